package conformance

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	crashEventWriters = 4
	crashCountedDB    = "crashcounted"  // its documents are counted by one function,
	crashEnrichedDB   = "crashenriched" // those of this one are completed by another,
	crashTimersDB     = "crashtimers"   // and for each of these a timer is made by a third
	crashEffectsDB    = "crasheffects"
)

// crashFunctions are the functions under test. Each counts what it does, so that an event whose
// effects are lost or come twice shows in a number.
var crashFunctions = []struct{ name, source, target, settings, code string }{
	{"count", crashCountedDB, crashEffectsDB, `{"worker_count":2}`, `
function OnUpdate(doc, meta) {
  for (const key of ['doc:' + meta.id, 'total']) {
    const sum = dst[key] || {n: 0};
    sum.n++;
    dst[key] = sum;
  }
  log('counted', meta.id);
}`},
	{"enrich", crashEnrichedDB, crashEnrichedDB, `{}`, `
function OnUpdate(doc, meta) {
  doc.enriched = (doc.enriched || 0) + 1;
  dst[meta.id] = doc;
}`},
	{"remind", crashTimersDB, crashEffectsDB, `{}`, `
function Fire(context) {
  const key = 'timer:' + context.id;
  const sum = dst[key] || {n: 0};
  sum.n++;
  dst[key] = sum;
}
function OnUpdate(doc, meta) { createTimer(Fire, new Date(doc.due), meta.id, {id: meta.id}); }`},
}

// TestCrashEvents kills the server while event functions work on what writers write, over and over
// on the same data. After each kill the store must pass the server's own check. In the end each
// document has been counted once, by itself and in the total, each document that is to be enriched
// has been enriched once, and each timer has fired once.
func TestCrashEvents(t *testing.T) {
	rounds, timers := crashRounds(t), 10_000
	if rounds == 1 {
		rounds, timers = 4, 1_000
	}
	s, c, dir, seed, random := crashBegin(t)
	crashDeploy(c)
	crashSetTimers(c, random, timers, time.Duration(rounds)*1500*time.Millisecond)
	writers := newCrashEventWriters(c, seed, 10, crashCountedDB, crashEnrichedDB)
	for round := range rounds {
		crashEventRound(t, s, writers, round%4 != 3, time.Duration(50+random.IntN(1000))*time.Millisecond)
		checkData(t, dir)
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		crashResume(c)
	}
	crashEventsDone(c, timers)
	// What was done and is not known to be done would be done again now.
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	checkData(t, dir)
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	crashEventsDone(c, timers)
	acknowledged := verifyCrashEvents(t, c, writers, timers)
	t.Logf("%d kills, %d acknowledged writes, %d timers: each effect once", rounds, acknowledged, timers)
	if acknowledged < rounds/2 {
		t.Error("hardly a write got through: the test shows nothing")
	}
}

// crashDeploy makes the databases and deploys the functions.
func crashDeploy(c *client) {
	c.t.Helper()
	for _, db := range []string{crashCountedDB, crashEnrichedDB, crashTimersDB, crashEffectsDB} {
		c.want(http.StatusCreated, c.do("PUT", "/"+db, ""))
	}
	for _, f := range crashFunctions {
		c.deployFunction(f.name, f.code, f.settings, fmt.Sprintf(
			`{"source_bucket":%q,"buckets":[{"alias":"dst","bucket_name":%q,"access":"rw"}]}`,
			f.source, f.target))
	}
}

// deployFunction stores a function with settings and bindings, which are JSON, and deploys it.
func (c *client) deployFunction(name, code, settings, bindings string) {
	c.t.Helper()
	path := "/_eventing/api/v1/functions/" + name
	definition := fmt.Sprintf(`{"appname":%q,"appcode":%s,"settings":%s,"depcfg":%s}`,
		name, encode(code), settings, bindings)
	c.want(http.StatusOK, c.do("POST", path, definition))
	c.want(http.StatusOK, c.do("POST", path+"/deploy?wait=60s", ""))
}

// crashSetTimers writes the documents whose timers are due within a time from now.
func crashSetTimers(c *client, random *rand.Rand, count int, within time.Duration) {
	c.t.Helper()
	now := time.Now().UnixMilli()
	for begin := 0; begin < count; begin += 1000 {
		var docs []string
		for i := begin; i < min(count, begin+1000); i++ {
			docs = append(docs, fmt.Sprintf(`{"_id":"%d","due":%d}`, i, now+random.Int64N(within.Milliseconds())))
		}
		c.want(http.StatusCreated,
			c.do("POST", "/"+crashTimersDB+"/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`))
	}
}

// crashEventRound lets the writers work for a moment and kills the server under them and its
// functions. With busy the moment begins with the first acknowledged write, else the server may be
// about to start its functions.
func crashEventRound(t *testing.T, s *Server, writers []*crashEventWriter, busy bool, length time.Duration) {
	t.Helper()
	work, stop := context.WithCancel(t.Context())
	defer stop()
	begun := make(chan struct{}, len(writers))
	var group sync.WaitGroup
	for _, w := range writers {
		group.Go(func() { w.run(work, begun) })
	}
	if busy {
		<-begun
	}
	time.Sleep(length)
	s.Kill()
	stop()
	group.Wait()
	for _, w := range writers {
		if w.failure != nil {
			t.Fatalf("writer %s: %v", w.name, w.failure)
		}
	}
}

// crashEventWriter writes documents, each once.
type crashEventWriter struct {
	name    string
	base    string
	dbs     []string
	most    int // documents of a request
	random  *rand.Rand
	http    *http.Client
	written map[string]bool // database/id: whether it was acknowledged
	failure error
}

// newCrashEventWriters are writers to some databases, of at most so many documents in a request.
func newCrashEventWriters(c *client, seed uint64, most int, dbs ...string) []*crashEventWriter {
	writers := make([]*crashEventWriter, crashEventWriters)
	for i := range writers {
		writers[i] = &crashEventWriter{
			name: fmt.Sprintf("w%d", i), base: c.base, dbs: dbs, most: most, written: map[string]bool{},
			random: rand.New(rand.NewPCG(seed, uint64(i+1))),
			http:   &http.Client{Transport: &http.Transport{}},
		}
	}
	return writers
}

// run writes until ctx ends or the server is gone, and tells when the first write was answered, or
// that it has ended.
func (w *crashEventWriter) run(ctx context.Context, begun chan<- struct{}) {
	defer w.http.CloseIdleConnections()
	begin := sync.OnceFunc(func() { begun <- struct{}{} })
	defer begin()
	for ctx.Err() == nil && w.failure == nil && w.step(ctx) {
		begin()
		time.Sleep(time.Duration(w.random.IntN(40)) * time.Millisecond)
	}
}

// step makes one request; false if it is not answered.
func (w *crashEventWriter) step(ctx context.Context) bool {
	db := w.dbs[w.random.IntN(len(w.dbs))]
	var ids, docs []string
	for range 1 + w.random.IntN(w.most) {
		id := fmt.Sprintf("%s-%d", w.name, len(w.written))
		w.written[db+"/"+id] = false
		ids, docs = append(ids, id), append(docs, fmt.Sprintf(`{"_id":%q,"by":%q}`, id, w.name))
	}
	body := `{"docs":[` + strings.Join(docs, ",") + `]}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.base+"/"+db+"/_bulk_docs", strings.NewReader(body))
	if err != nil {
		w.failure = err
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	req.SetBasicAuth(AdminName, AdminPassword)
	resp, err := w.http.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return false
	}
	if _, err := acknowledged(resp.StatusCode, answer); err != nil {
		w.failure = err
		return false
	}
	for _, id := range ids {
		w.written[db+"/"+id] = true
	}
	return true
}

// crashEventsDone waits until the functions have nothing to do any more.
func crashEventsDone(c *client, timers int) {
	c.t.Helper()
	var state string
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		crashResume(c)
		counted := c.docCount(crashCountedDB)
		// a document for each that is counted, one for each timer, and the total
		effects := c.docCount(crashEffectsDB)
		state = fmt.Sprintf("%d documents to be counted, %d effects and %d timers", counted, effects, timers)
		idle := effects >= counted+timers
		for _, f := range crashFunctions {
			left := c.eventsLeft(f.name)
			state += fmt.Sprintf(", %d events for %s", left, f.name)
			idle = idle && left == 0
		}
		if idle {
			return
		}
	}
	c.t.Fatalf("functions do not come to an end: %s", state)
}

// crashResume resumes functions that are paused, as they are after three kills in a row.
func crashResume(c *client) {
	c.t.Helper()
	var list struct {
		Apps []struct {
			Name   string
			Status string `json:"composite_status"`
		}
	}
	c.decode(c.want(http.StatusOK, c.do("GET", "/_eventing/api/v1/status", "")), &list)
	for _, app := range list.Apps {
		if app.Status == "paused" {
			c.want(http.StatusOK, c.do("POST", "/_eventing/api/v1/functions/"+app.Name+"/resume?wait=60s", ""))
		}
	}
}

// eventsLeft is how many events a function has not handled yet.
func (c *client) eventsLeft(function string) int {
	c.t.Helper()
	var left struct {
		Events int `json:"dcp_backlog"`
	}
	path := "/_eventing/getDcpEventsRemaining?name=" + function
	c.decode(c.want(http.StatusOK, c.do("GET", path, "")), &left)
	return left.Events
}

func (c *client) docCount(db string) int {
	c.t.Helper()
	var info struct {
		Docs int `json:"doc_count"`
	}
	c.decode(c.want(http.StatusOK, c.do("GET", "/"+db, "")), &info)
	return info.Docs
}

// crashEventDoc is what the test reads of documents.
type crashEventDoc struct {
	N        int
	Enriched int
}

func (c *client) crashEventDocs(db string) map[string]crashEventDoc {
	c.t.Helper()
	var list struct {
		Rows []struct {
			ID  string
			Doc crashEventDoc
		}
	}
	c.decode(c.want(http.StatusOK, c.do("GET", "/"+db+"/_all_docs?include_docs=true", "")), &list)
	docs := make(map[string]crashEventDoc, len(list.Rows))
	for _, row := range list.Rows {
		docs[row.ID] = row.Doc
	}
	return docs
}

// verifyCrashEvents compares all effects with what was written, and returns the number of
// acknowledged documents.
func verifyCrashEvents(t *testing.T, c *client, writers []*crashEventWriter, timers int) (acknowledged int) {
	t.Helper()
	wrong := 0
	report := func(format string, args ...any) {
		if wrong++; wrong <= 20 {
			t.Errorf(format, args...)
		}
	}
	found := map[string]map[string]crashEventDoc{}
	for _, db := range []string{crashCountedDB, crashEnrichedDB} {
		found[db] = c.crashEventDocs(db)
	}
	for _, w := range writers {
		for path, sure := range w.written {
			db, id, _ := strings.Cut(path, "/")
			if _, there := found[db][id]; sure && !there {
				report("%s was acknowledged and is lost", path)
			}
			if sure {
				acknowledged++
			}
		}
	}
	for id, doc := range found[crashEnrichedDB] {
		if doc.Enriched != 1 {
			report("%s was enriched %d times", id, doc.Enriched)
		}
	}
	effects := c.crashEventDocs(crashEffectsDB)
	once := func(what string) {
		if n := effects[what].N; n != 1 {
			report("effect of %s: %d times", what, n)
		}
		delete(effects, what)
	}
	for id := range found[crashCountedDB] {
		once("doc:" + id)
	}
	for i := range timers {
		once(fmt.Sprintf("timer:%d", i))
	}
	if n := effects["total"].N; n != len(found[crashCountedDB]) {
		report("the total is %d of %d documents", n, len(found[crashCountedDB]))
	}
	if delete(effects, "total"); len(effects) > 0 {
		report("effects of nothing: %v", effects)
	}
	if wrong > 20 {
		t.Errorf("and %d more", wrong-20)
	}
	return acknowledged
}
