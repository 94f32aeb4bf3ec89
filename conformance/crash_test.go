package conformance

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	crashWriters = 8
	crashDB      = "crash"
)

// TestCrash kills the server while writers are at work and checks, after a restart on the same data, that what was
// acknowledged is there, that nothing else is, and that the indexes agree with each other. CRASH_ROUNDS sets how often.
func TestCrash(t *testing.T) {
	rounds := 2
	if n, err := strconv.Atoi(os.Getenv("CRASH_ROUNDS")); err == nil {
		rounds = n
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	s, err := Engines[0].Start(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Kill() }()
	c := clientFor(t, s.Addr)
	c.want(http.StatusCreated, c.do("PUT", "/"+crashDB+"?q=1", ""))
	writers := make([]*crashWriter, crashWriters)
	for i := range writers {
		writers[i] = &crashWriter{name: fmt.Sprintf("w%d", i), base: c.base + "/" + crashDB, docs: map[string]crashDoc{},
			random: rand.New(rand.NewPCG(seed, uint64(i+1)))}
	}
	for round := range rounds {
		work, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for _, w := range writers {
			group.Go(func() { w.run(work) })
		}
		time.Sleep(time.Duration(200+random.IntN(500)) * time.Millisecond)
		s.Kill()
		stop()
		group.Wait()
		for _, w := range writers {
			if w.failure != nil {
				t.Fatalf("round %d: %v", round, w.failure)
			}
		}
		checkData(t, dir)
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		verifyAfterCrash(t, c, writers)
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	acknowledged := 0
	for _, w := range writers {
		acknowledged += w.acknowledged
	}
	t.Logf("%d crashes, %d acknowledged writes, none lost", rounds, acknowledged)
	if acknowledged < rounds*crashWriters {
		t.Error("hardly a write got through: the test shows nothing")
	}
}

// checkData runs the server's own check of a stopped data directory.
func checkData(t *testing.T, dir string) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path, "check", "--data", dir).CombinedOutput(); err != nil {
		t.Fatalf("check: %v\n%s", err, out)
	}
}

// crashDoc is what a writer knows of one of its documents.
type crashDoc struct {
	Rev        string
	Deleted    bool
	Attachment string // content, "" if none
	uncertain  bool   // the last write of it was not answered: it may have happened
}

// crashWriter writes documents that nobody else touches and remembers what was acknowledged.
type crashWriter struct {
	name         string
	base         string
	random       *rand.Rand
	docs         map[string]crashDoc
	next         int
	acknowledged int
	failure      error // a write that was refused, or an answer that makes no sense
}

var errNotAnswered = errors.New("no answer")

// run writes until ctx ends or the server is gone.
func (w *crashWriter) run(ctx context.Context) {
	for ctx.Err() == nil {
		var err error
		switch w.random.IntN(6) {
		case 0:
			err = w.bulk(ctx)
		case 1:
			err = w.attach(ctx)
		case 2, 3:
			err = w.edit(ctx, w.anyID())
		default:
			err = w.edit(ctx, w.newID())
		}
		if err != nil {
			if !errors.Is(err, errNotAnswered) {
				w.failure = err
			}
			return
		}
	}
}

func (w *crashWriter) newID() string {
	w.next++
	return fmt.Sprintf("%s-%05d", w.name, w.next)
}

func (w *crashWriter) anyID() string {
	if w.next == 0 {
		return w.newID()
	}
	return fmt.Sprintf("%s-%05d", w.name, 1+w.random.IntN(w.next))
}

// content is the next state of a document: now and then its deletion, now and then with an attachment.
func (w *crashWriter) content(id string) (doc map[string]any, want crashDoc) {
	old := w.docs[id]
	doc = map[string]any{"_id": id, "payload": strings.Repeat("x", w.random.IntN(2000)), "n": w.random.Int64()}
	if old.Rev != "" && !old.Deleted {
		doc["_rev"] = old.Rev
		if w.random.IntN(5) == 0 {
			doc["_deleted"] = true
			return doc, crashDoc{Deleted: true}
		}
	}
	if w.random.IntN(4) == 0 {
		want.Attachment = strings.Repeat(id+" ", 1+w.random.IntN(10_000))
		doc["_attachments"] = map[string]any{"a": map[string]any{
			"content_type": "application/octet-stream", "data": base64.StdEncoding.EncodeToString([]byte(want.Attachment)),
		}}
	}
	return doc, want
}

func (w *crashWriter) edit(ctx context.Context, id string) error {
	doc, want := w.content(id)
	return w.send(ctx, "PUT", "/"+id, doc, map[string]crashDoc{id: want})
}

func (w *crashWriter) bulk(ctx context.Context) error {
	wants := map[string]crashDoc{}
	var docs []any
	for range 10 {
		id := w.newID()
		doc, want := w.content(id)
		docs, wants[id] = append(docs, doc), want
	}
	return w.send(ctx, "POST", "/_bulk_docs", map[string]any{"docs": docs}, wants)
}

func (w *crashWriter) attach(ctx context.Context) error {
	id := w.anyID()
	old := w.docs[id]
	path := "/" + id + "/a"
	if old.Rev != "" && !old.Deleted {
		path += "?rev=" + old.Rev
	}
	content := strings.Repeat(id+"/", 1+w.random.IntN(50_000))
	return w.send(ctx, "PUT", path, content, map[string]crashDoc{id: {Attachment: content}})
}

// send makes one write. Its documents are uncertain until the answer is there.
func (w *crashWriter) send(ctx context.Context, method, path string, content any, wants map[string]crashDoc) error {
	for id := range wants {
		known := w.docs[id]
		known.uncertain = true
		w.docs[id] = known
	}
	kind := "application/octet-stream"
	text, isText := content.(string)
	if !isText {
		encoded, err := json.Marshal(content)
		if err != nil {
			return err
		}
		kind, text = "application/json", string(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, w.base+path, strings.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", kind)
	req.SetBasicAuth(AdminName, AdminPassword)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return errNotAnswered
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return errNotAnswered
	}
	return w.acknowledge(resp.StatusCode, answer, wants)
}

// acknowledge remembers what the answer promises.
func (w *crashWriter) acknowledge(status int, answer []byte, wants map[string]crashDoc) error {
	type saved struct{ ID, Rev, Error string }
	var all []saved
	if bytes.HasPrefix(answer, []byte("[")) {
		if err := json.Unmarshal(answer, &all); err != nil {
			return fmt.Errorf("%w in %q", err, answer)
		}
	} else {
		var one saved
		if err := json.Unmarshal(answer, &one); err != nil {
			return fmt.Errorf("%w in %q", err, answer)
		}
		all = []saved{one}
	}
	for _, s := range all {
		if status/100 != 2 || s.Error != "" {
			return fmt.Errorf("a write was refused: %d %s", status, answer)
		}
		want := wants[s.ID]
		want.Rev = s.Rev
		w.docs[s.ID] = want
		w.acknowledged++
	}
	return nil
}

// verifyAfterCrash compares the database with what the writers know, and takes over what was uncertain.
func verifyAfterCrash(t *testing.T, c *client, writers []*crashWriter) {
	t.Helper()
	var info struct {
		Docs    int `json:"doc_count"`
		Deleted int `json:"doc_del_count"`
	}
	c.decode(c.want(http.StatusOK, c.do("GET", "/"+crashDB, "")), &info)
	feed := map[string]change{}
	var live []string
	last := -1
	for _, row := range c.changes(crashDB, "").Results {
		if _, twice := feed[row.ID]; twice {
			t.Errorf("%s is twice in the feed", row.ID)
		}
		feed[row.ID] = row
		if n := sequenceNumber(t, *row.Seq); n <= last {
			t.Errorf("%s: sequence %d after %d", row.ID, n, last)
		} else {
			last = n
		}
		if !row.Deleted {
			live = append(live, row.ID)
		}
	}
	var list struct{ Rows []struct{ ID string } }
	c.decode(c.want(http.StatusOK, c.do("GET", "/"+crashDB+"/_all_docs", "")), &list)
	var listed []string
	for _, row := range list.Rows {
		listed = append(listed, row.ID)
	}
	slices.Sort(live)
	if !slices.Equal(live, listed) || info.Docs != len(live) || info.Docs+info.Deleted != len(feed) {
		t.Errorf("feed: %d live of %d, _all_docs: %d, counts: %d and %d deleted", len(live), len(feed), len(listed), info.Docs, info.Deleted)
	}
	for _, w := range writers {
		for id, known := range w.docs {
			w.docs[id] = verifyDoc(t, c, id, known, feed)
			delete(feed, id)
		}
	}
	for id := range feed {
		t.Errorf("nobody wrote %s", id)
	}
}

// verifyDoc checks one document and returns its state as it is now.
func verifyDoc(t *testing.T, c *client, id string, known crashDoc, feed map[string]change) crashDoc {
	t.Helper()
	row, found := feed[id]
	if !found {
		if known.Rev != "" {
			t.Errorf("%s at %s is lost", id, known.Rev)
		}
		return crashDoc{}
	}
	now := crashDoc{Rev: row.Changes[0].Rev, Deleted: row.Deleted}
	r := c.do("GET", "/"+crashDB+"/"+id+"?attachments=true", "")
	if now.Deleted != (r.Status == http.StatusNotFound) {
		t.Errorf("%s: deleted %t in the feed, status %d", id, now.Deleted, r.Status)
	}
	if !now.Deleted {
		var doc struct {
			Rev         string                           `json:"_rev"`
			Attachments map[string]struct{ Data []byte } `json:"_attachments"`
		}
		c.decode(r, &doc)
		now.Attachment = string(doc.Attachments["a"].Data)
		if doc.Rev != now.Rev {
			t.Errorf("%s: %s in the feed, %s in the document", id, now.Rev, doc.Rev)
		}
	}
	if !known.uncertain && now != known {
		t.Errorf("%s: acknowledged %s (deleted %t, attachment of %d bytes), found %s (%t, %d)", id,
			known.Rev, known.Deleted, len(known.Attachment), now.Rev, now.Deleted, len(now.Attachment))
	}
	if known.uncertain && generation(now.Rev) > generation(known.Rev)+1 {
		t.Errorf("%s: %s became %s", id, known.Rev, now.Rev)
	}
	return now
}

func generation(rev string) int {
	n, _ := strconv.Atoi(strings.Split(rev, "-")[0]) // no revision: 0
	return n
}
