package conformance

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	crashPublishedDB = "crashpublished" // for each of its documents messages are published,
	crashDeliveredDB = "crashdelivered" // some of them to this database
	crashPublisher   = "publish"
	crashLettersPath = "/_eventing/api/v1/functions/" + crashPublisher + "/dead_letters"

	crashDeliveries = 4 // that run at a time, the setting publish_concurrency
	crashAttempts   = 3 // of a message, the setting publish_max_attempts
)

// crashHows are the ways in which the receiver answers a message, of which each document has one:
// at once, late, at the second attempt, never, and that it does not want it.
var crashHows = []string{"ok", "slow", "once", "never", "wrong"}

// crashPublishing publishes one message of each kind for a document, and leaves a document by which
// the test knows that what the handler has done was stored.
const crashPublishing = `
function OnUpdate(doc, meta) {
  for (const how of ['ok', 'slow', 'once', 'never', 'wrong']) {
    publish(hook, {of: meta.id, how}, {id: how + ':' + meta.id});
  }
  publish(dst, {of: meta.id}, {id: 'doc:' + meta.id});
  dst['log:' + meta.id] = {n: 1};
}`

// crashReceiver is the server that messages are posted to, which nobody kills.
type crashReceiver struct {
	*httptest.Server
	mu       sync.Mutex
	random   *rand.Rand
	mended   bool                // accepts everything
	attempts map[string]int      // by Idempotency-Key
	accepted map[string]int      // by Idempotency-Key
	bodies   map[string][]string // different ones of a key
	running  int
	most     int // requests at a time
}

// newCrashReceiver starts a receiver, which ends with the test.
func newCrashReceiver(t *testing.T, random *rand.Rand) *crashReceiver {
	r := &crashReceiver{
		random: random, attempts: map[string]int{}, accepted: map[string]int{},
		bodies: map[string][]string{},
	}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP implements http.Handler. What is accepted counts before the answer is sent, so that a
// server that is killed in between has delivered a message and does not know it.
func (r *crashReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the sender was killed in the middle of it
	}
	status, wait := r.take(request.Header.Get("Idempotency-Key"), string(body))
	time.Sleep(wait)
	r.mu.Lock()
	r.running--
	r.mu.Unlock()
	w.WriteHeader(status)
}

// take notes a message, and says how it is answered, and after which time.
func (r *crashReceiver) take(key, body string) (status int, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running++
	r.most = max(r.most, r.running)
	r.attempts[key]++
	how, _, _ := strings.Cut(key, ":")
	status = http.StatusOK
	switch {
	case r.mended:
	case how == "wrong":
		status = http.StatusGone
	case how == "never", how == "once" && r.attempts[key] == 1:
		status = http.StatusServiceUnavailable
	case how == "slow":
		wait = time.Duration(r.random.IntN(20)) * time.Millisecond
	}
	if status == http.StatusOK {
		r.accepted[key]++
	}
	for _, known := range r.bodies[key] {
		if known == body {
			return status, wait
		}
	}
	r.bodies[key] = append(r.bodies[key], body)
	return status, wait
}

// mend has the receiver accept everything from now on.
func (r *crashReceiver) mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mended = true
}

// TestCrashMessages kills the server while a function publishes and messages are delivered, over and
// over on the same data. In the end each message of an event whose effects were stored has arrived, or
// is a dead letter because its receiver did not want it. Dead letters are replayed, under more kills,
// and arrive. What a database gets is written once; a receiver of HTTP gets a message again only
// where a kill came between its answer and the note of it, with the same key and body: so many times
// in all as messages were on their way when the server was killed.
func TestCrashMessages(t *testing.T) {
	rounds := crashRounds(t)
	if rounds == 1 {
		rounds = 4
	}
	settings := filepath.Join(t.TempDir(), "local.ini") // the receiver is on this machine
	err := os.WriteFile(settings, []byte("[eventing]\ncurl_denied_networks = 10.0.0.0/8\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	s, c, dir, seed, random := crashBegin(t, "COUCHDB_INI_FILES="+settings)
	r := newCrashReceiver(t, rand.New(rand.NewPCG(seed, 100)))
	for _, db := range []string{crashPublishedDB, crashDeliveredDB} {
		c.want(http.StatusCreated, c.do("PUT", "/"+db, ""))
	}
	c.deployFunction(crashPublisher, crashPublishing, fmt.Sprintf(
		`{"publish_max_attempts":%d,"publish_concurrency":%d}`, crashAttempts, crashDeliveries),
		fmt.Sprintf(`{"source_bucket":%q,"buckets":[{"alias":"dst","bucket_name":%q,"access":"rw"}],
			"curl":[{"hostname":%q,"value":"hook","auth_type":"no-auth"}]}`,
			crashPublishedDB, crashDeliveredDB, r.URL))
	writers := newCrashEventWriters(c, seed, 3, crashPublishedDB)
	for round := range rounds {
		crashEventRound(t, s, writers, round%4 != 3, time.Duration(50+random.IntN(1000))*time.Millisecond)
		crashRestart(t, s, c, dir)
	}
	crashMessagesDone(c)
	acknowledged := verifyCrashMessages(t, c, writers)
	verifyCrashLetters(t, c, r)
	r.mend()
	kills := rounds
	for range min(rounds, 5) {
		c.want(http.StatusOK, c.do("POST", crashLettersPath+"/replay", ""))
		time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
		s.Kill()
		kills++
		crashRestart(t, s, c, dir)
	}
	c.want(http.StatusOK, c.do("POST", crashLettersPath+"/replay", ""))
	crashMessagesDone(c)
	verifyCrashDeliveries(t, c, r, kills)
	t.Logf("%d kills, %d acknowledged writes, %d messages", kills, acknowledged, len(r.accepted))
	if acknowledged < rounds/2 {
		t.Error("hardly a write got through: the test shows nothing")
	}
}

// crashRestart checks the data of a killed server and starts it again.
func crashRestart(t *testing.T, s *Server, c *client, dir string) {
	t.Helper()
	checkData(t, dir)
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	crashResume(c)
}

// crashOutbox is what the test reads of messages that are not delivered.
type crashOutbox struct {
	Letters []struct {
		ID       string
		Attempts int
	}
	Next    string
	Waiting int `json:"outbox"`
	Dead    int `json:"dead_letters"`
}

// crashMessagesDone waits until all events are handled and no message waits any more.
func crashMessagesDone(c *client) {
	c.t.Helper()
	var state string
	end := time.Now().Add(5 * time.Minute)
	for ; time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		crashResume(c)
		var box crashOutbox
		c.decode(c.want(http.StatusOK, c.do("GET", crashLettersPath+"?limit=1", "")), &box)
		left, published := c.eventsLeft(crashPublisher), c.docCount(crashPublishedDB)
		delivered := c.docCount(crashDeliveredDB)
		state = fmt.Sprintf("%d events left, %d messages wait, %d of %d documents delivered",
			left, box.Waiting, delivered, 2*published)
		if left == 0 && box.Waiting == 0 && delivered >= 2*published {
			return
		}
	}
	c.t.Fatalf("messages do not come to an end: %s", state)
}

// verifyCrashMessages compares the documents that were written and delivered, and returns the number
// of acknowledged writes.
func verifyCrashMessages(t *testing.T, c *client, writers []*crashEventWriter) (acknowledged int) {
	t.Helper()
	published, delivered := c.revisions(crashPublishedDB), c.revisions(crashDeliveredDB)
	for _, w := range writers {
		for path, sure := range w.written {
			_, id, _ := strings.Cut(path, "/")
			if _, there := published[id]; sure && !there {
				t.Errorf("%s was acknowledged and is lost", path)
			}
			if sure {
				acknowledged++
			}
		}
	}
	for id := range published {
		for _, kind := range []string{"log:", "doc:"} {
			if rev := delivered[kind+id]; !strings.HasPrefix(rev, "1-") {
				t.Errorf("%s%s was not written once: revision %q", kind, id, rev)
			}
			delete(delivered, kind+id)
		}
	}
	if len(delivered) > 0 {
		t.Errorf("messages of nothing: %v", delivered)
	}
	return acknowledged
}

// revisions are those of all documents of a database, by their ids.
func (c *client) revisions(db string) map[string]string {
	c.t.Helper()
	var list struct {
		Rows []struct {
			ID    string
			Value struct{ Rev string }
		}
	}
	c.decode(c.want(http.StatusOK, c.do("GET", "/"+db+"/_all_docs", "")), &list)
	revs := make(map[string]string, len(list.Rows))
	for _, row := range list.Rows {
		revs[row.ID] = row.Value.Rev
	}
	return revs
}

// verifyCrashLetters asks for all dead letters: of each document the two messages that nobody
// accepts, after the attempts that they have, and no others.
func verifyCrashLetters(t *testing.T, c *client, r *crashReceiver) {
	t.Helper()
	expected := map[string]int{} // attempts by key
	for id := range c.revisions(crashPublishedDB) {
		expected["never:"+id], expected["wrong:"+id] = crashAttempts, 1
	}
	for path := crashLettersPath; path != ""; {
		var box crashOutbox
		c.decode(c.want(http.StatusOK, c.do("GET", path, "")), &box)
		for _, l := range box.Letters {
			var letter struct{ Key string }
			c.decode(c.want(http.StatusOK, c.do("GET", crashLettersPath+"/"+l.ID, "")), &letter)
			if wanted := expected[letter.Key]; l.Attempts != wanted {
				t.Errorf("the dead letter %s has %d attempts, not %d", letter.Key, l.Attempts, wanted)
			}
			delete(expected, letter.Key)
		}
		if path = ""; box.Next != "" {
			path = crashLettersPath + "?after=" + box.Next
		}
	}
	if len(expected) > 0 {
		t.Errorf("%d messages are no dead letters: %.400v", len(expected), expected)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, n := range r.accepted {
		if how, _, _ := strings.Cut(key, ":"); how == "never" || how == "wrong" {
			t.Errorf("%s was accepted %d times", key, n)
		}
	}
}

// verifyCrashDeliveries looks at what has come to the receiver, when all is delivered: every message,
// and no more of them again than were on their way at the kills.
func verifyCrashDeliveries(t *testing.T, c *client, r *crashReceiver, kills int) {
	t.Helper()
	var box crashOutbox
	c.decode(c.want(http.StatusOK, c.do("GET", crashLettersPath, "")), &box)
	if box.Dead != 0 || box.Waiting != 0 {
		t.Errorf("%d dead letters are left, and %d messages wait", box.Dead, box.Waiting)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	expected, again := map[string]bool{}, 0
	for id := range c.revisions(crashPublishedDB) {
		for _, how := range crashHows {
			key := how + ":" + id
			expected[key] = true
			if r.accepted[key] == 0 {
				t.Errorf("%s is lost", key)
			}
			again += max(0, r.accepted[key]-1)
			body := fmt.Sprintf(`{"of":%q,"how":%q}`, id, how)
			if bodies := r.bodies[key]; len(bodies) != 1 || bodies[0] != body {
				t.Errorf("%s has other bodies: %q", key, bodies)
			}
		}
	}
	for key := range r.attempts {
		if !expected[key] {
			t.Errorf("a message of nothing: %s", key)
		}
	}
	t.Logf("%d messages came again, at most %d at a time", again, r.most)
	if most := kills * crashDeliveries; again > most {
		t.Errorf("%d messages came again, %d at most were on their way at %d kills", again, most, kills)
	}
}
