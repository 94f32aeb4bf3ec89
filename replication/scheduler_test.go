package replication

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// testScheduler is a scheduler whose peers are in memory, by the host of their URLs.
type testScheduler struct {
	*Scheduler
	store *storage.Store
	set   atomic.Pointer[Settings]
	peers map[string]*memoryPeer
}

func newTestScheduler(t *testing.T, change func(*Settings)) *testScheduler {
	t.Helper()
	return newTestProcess(t, newTestStore(t), nil, change)
}

func newTestStore(t *testing.T) *storage.Store {
	t.Helper()
	store, err := storage.Open(t.Context(), storage.Options{KV: memkv.New()})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{compat.ReplicatorDB, storage.GlobalChanges} {
		if err := store.Create(t.Context(), name, storage.CreateOptions{Q: 1, N: 1}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// newTestProcess is a scheduler on a store, which it may share with others.
func newTestProcess(t *testing.T, store *storage.Store, sharing Sharing, change func(*Settings)) *testScheduler {
	t.Helper()
	s := &testScheduler{store: store, peers: map[string]*memoryPeer{}}
	set := DefaultSettings()
	set.StartupJitter = 0
	if change != nil {
		change(&set)
	}
	s.set.Store(&set)
	for _, host := range []string{"s", "t", "u"} {
		s.peers[host] = newMemoryPeer(host, 1)
	}
	s.Scheduler = NewScheduler(SchedulerOptions{
		Store: store, Settings: s.set.Load, Sharing: sharing, Log: slog.New(slog.DiscardHandler),
		Connect: func(e *Endpoint, _ *Spec, _ *Settings) Peer {
			u, _ := parseURL(e.URL)
			if p := s.peers[u.host]; p != nil {
				return p
			}
			return missingPeer{newMemoryPeer(u.host, 1)}
		},
	})
	following := make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		s.Follow(ctx)
		close(following)
	}()
	t.Cleanup(func() {
		stop()
		<-following
		s.Close()
	})
	return s
}

// parted is the Sharing of one of some processes. What has a name falls to them by its hash.
type parted struct {
	alone
	self, processes byte
	mine            atomic.Int64 // how many documents fell to this one
}

func (p *parted) Mine(name string) bool {
	if sum := sha256.Sum256([]byte(name)); sum[0]%p.processes != p.self {
		return false
	}
	p.mine.Add(1)
	return true
}

// TestDuplicatesAcrossProcesses writes pairs of documents that ask for one replication each, on a
// store of two processes: the second of each pair fails, whichever process it would fall to by its
// own name.
func TestDuplicatesAcrossProcesses(t *testing.T) {
	const pairs = 8
	store := newTestStore(t)
	sharings := []*parted{{self: 0, processes: 2}, {self: 1, processes: 2}}
	var processes []*testScheduler
	for _, p := range sharings {
		processes = append(processes, newTestProcess(t, store, p, func(set *Settings) { set.Shared = true }))
	}
	for i := range pairs {
		first, second := fmt.Sprintf("first%d", i), fmt.Sprintf("second%d", i)
		body := fmt.Sprintf(`{"source":"http://s/a%d","target":"http://t/b","continuous":true}`, i)
		processes[0].write(t, compat.ReplicatorDB, first, body)
		until(t, "a job of "+first, func() bool {
			return slices.ContainsFunc(processes, func(p *testScheduler) bool {
				state := p.state(first)
				return state != "" && state != string(documentNew) // then second might be faster
			})
		})
		processes[0].write(t, compat.ReplicatorDB, second, body)
		until(t, "the end of "+second, func() bool {
			return strings.Contains(processes[0].body(t, compat.ReplicatorDB, second),
				"already started, triggered by document `"+first+"` from db `_replicator`")
		})
	}
	if sharings[0].mine.Load() == 0 || sharings[1].mine.Load() == 0 {
		t.Error("one process has all: the test shows nothing")
	}
}

// missingPeer is a database that is not there.
type missingPeer struct{ *memoryPeer }

func (p missingPeer) Open(context.Context, bool, []Header) error { return NotFound(p.URI()) }

func (s *testScheduler) write(t *testing.T, db, id, body string) {
	t.Helper()
	v, err := ejson.Parse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	d, err := compat.ParseDocument(v, compat.DocRules{Edits: true})
	if err != nil {
		t.Fatal(err)
	}
	d.ID, d.HasID = id, true
	if old, err := s.store.DB(db).Open(t.Context(), id, docread.OpenOptions{}); err == nil {
		d.Revs = compat.RevPath{Start: old.Rev.Pos, IDs: []string{old.Rev.Hash}}
	}
	results, err := s.store.DB(db).Update(t.Context(), []*compat.Document{d}, storage.UpdateOptions{})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func (s *testScheduler) body(t *testing.T, db, id string) string {
	d, err := s.store.DB(db).Open(t.Context(), id, docread.OpenOptions{})
	if err != nil {
		return err.Error()
	}
	return string(d.Body)
}

func (s *testScheduler) state(id string) string {
	if info := s.Document(compat.ReplicatorDB, id, "node"); info != nil {
		return info.State
	}
	return ""
}

func TestDocumentsBecomeJobs(t *testing.T) {
	s := newTestScheduler(t, nil)
	for i := range 20 {
		s.peers["s"].write(i, "")
	}
	s.write(t, compat.ReplicatorDB, "once", `{"source":"http://s/a","target":"http://t/b","note":"x"}`)
	until(t, "the end", func() bool {
		return strings.Contains(s.body(t, compat.ReplicatorDB, "once"), `"_replication_state":"completed"`)
	})
	if body := s.body(t, compat.ReplicatorDB, "once"); !strings.Contains(body, `"docs_written":20`) ||
		!strings.HasPrefix(body, `{"source":"http://s/a","target":"http://t/b","note":"x","_replication_state"`) {
		t.Error(body)
	}
	s.write(t, compat.ReplicatorDB, "bad", `{"source":"here","target":"http://t/b"}`)
	until(t, "the refusal", func() bool {
		return strings.Contains(
			s.body(t, compat.ReplicatorDB, "bad"),
			`"_replication_state_reason":"local_endpoints_not_supported"`,
		)
	})
	s.write(t, compat.ReplicatorDB, "live", `{"source":"http://s/a","target":"http://u/b","continuous":true}`)
	until(t, "a running job", func() bool { return s.state("live") == "running" })
	s.write(t, compat.ReplicatorDB, "double", `{"source":"http://s/a","target":"http://u/b","continuous":true}`)
	until(t, "the second of a kind to fail", func() bool {
		return strings.Contains(
			s.body(t, compat.ReplicatorDB, "double"),
			"already started, triggered by document `live` from db `_replicator`",
		)
	})
	s.write(t, compat.ReplicatorDB, "live", `{"_deleted":true}`)
	until(
		t,
		"the end of a deleted document's job",
		func() bool { return len(s.Jobs("node")) == 0 && s.state("live") == "" },
	)
}

// gauge is a number that a Counter moves.
type gauge struct{ atomic.Int64 }

func (g *gauge) Add(n int64) { g.Int64.Add(n) }

func TestCrashes(t *testing.T) {
	var running, pending, crashed gauge
	s := newTestScheduler(t, func(set *Settings) {
		set.UpdateDocs, set.MaxJobs, set.Interval = true, 0, 30*time.Millisecond
		c := &set.Counters
		c.JobsRunning, c.JobsPending, c.JobsCrashed = Counter{&running}, Counter{&pending}, Counter{&crashed}
	})
	s.write(t, compat.ReplicatorDB, "c", `{"source":"http://nowhere/a","target":"http://t/b"}`)
	gauges := func(r, p, c int64) func() bool {
		return func() bool { return running.Load() == r && pending.Load() == p && crashed.Load() == c }
	}
	until(t, "a job that may not run", gauges(0, 1, 0))
	set := *s.set.Load()
	set.MaxJobs = 5
	s.set.Store(&set)
	until(t, "the crash", func() bool { return s.state("c") == "crashing" })
	until(t, "the gauge of crashed jobs", gauges(0, 0, 1))
	info := string(s.Document(compat.ReplicatorDB, "c", "node").JSON)
	if !strings.Contains(info, `"info":{"error":"db_not_found: could not open memory:nowhere"},"error_count":1`) {
		t.Error(info)
	}
	until(
		t,
		"the document to tell",
		func() bool {
			return strings.Contains(s.body(t, compat.ReplicatorDB, "c"), `"_replication_state":"error"`)
		},
	)
	j := &job{}
	now := time.Now()
	for n := range 4 {
		j.note(event{kind: eventStarted, at: now}, 20)
		j.note(event{kind: eventCrashed, at: now.Add(time.Second)}, 20)
		if got := j.crashes(2 * time.Minute); got != n+1 {
			t.Errorf("%d crashes, not %d", got, n+1)
		}
		pause := crashPause << n
		if at := now.Add(time.Second + pause); j.ready(at.Add(-time.Second), 2*time.Minute) ||
			!j.ready(at, 2*time.Minute) {
			t.Errorf("after %d crashes the pause is not %s", n+1, pause)
		}
	}
	j.note(event{kind: eventStarted, at: now}, 20)
	j.note(event{kind: eventCrashed, at: now.Add(time.Hour)}, 20)
	if j.crashes(2*time.Minute) != 0 {
		t.Error("a job that ran for an hour is not healthy")
	}
}

// TestTurns runs more jobs than may run at once: all get their turn, and never are there too many.
func TestTurns(t *testing.T) {
	s := newTestScheduler(t, func(set *Settings) {
		set.MaxJobs, set.MaxChurn, set.Interval = 3, 2, 30*time.Millisecond
	})
	for i := range 10 {
		id := "d" + string(rune('0'+i))
		s.write(t, compat.ReplicatorDB, id, `{"source":"http://s/`+id+`","target":"http://t/b","continuous":true}`)
	}
	seen := map[string]bool{}
	until(t, "all to run", func() bool {
		running := 0
		for i := range 10 {
			id := "d" + string(rune('0'+i))
			if s.state(id) == "running" {
				running++
				seen[id] = true
			}
		}
		if running > 3 {
			t.Errorf("%d jobs run", running)
		}
		return len(seen) == 10
	})
}

// TestTransient starts, joins and cancels jobs of _replicate.
func TestTransient(t *testing.T) {
	s := newTestScheduler(t, nil)
	s.peers["s"].write(1, "")
	set := s.set.Load()
	spec := func(more, user string) *Spec {
		d, err := ejson.Parse([]byte(`{"source":"http://s/a","target":"http://t/b"` + more + `}`))
		if err != nil {
			t.Fatal(err)
		}
		sp, err := ParseSpec(d, set)
		if err != nil {
			t.Fatal(err)
		}
		sp.User.Name = user
		sp.SetID(set, "")
		return sp
	}
	wait, err := s.Add(spec("", "a"), false)
	if err != nil {
		t.Fatal(err)
	}
	if o := <-wait; o.Err != nil || !strings.Contains(string(o.Result), `"docs_written":1`) {
		t.Errorf("%s %v", o.Result, o.Err)
	}
	live := spec(`,"continuous":true`, "a")
	for range 2 {
		if wait, err := s.Add(live, false); wait != nil || err != nil {
			t.Fatal(wait, err)
		}
	}
	if len(s.Jobs("n")) != 1 {
		t.Error("the same replication twice")
	}
	if _, err := s.Add(spec(`,"continuous":true,"worker_batch_size":3`, "b"), false); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("another user replaces it: %v", err)
	}
	if found, err := s.Cancel(live.ID, UserContext{Name: "b"}, false); !found || !errors.Is(err, ErrNotAllowed) {
		t.Error(found, err)
	}
	if found, err := s.Cancel(live.ID, UserContext{Name: "b"}, true); !found || err != nil {
		t.Error(found, err)
	}
	if found, _ := s.Cancel(live.ID, UserContext{Name: "a"}, false); found {
		t.Error("found after it was cancelled")
	}
	named := spec(`,"_id":"of no document"`, "a")
	named.Source.URL = "http://none/a/"
	if wait, err = s.Add(named, false); err != nil {
		t.Fatal(err)
	}
	select {
	case o := <-wait:
		if !strings.Contains(fmt.Sprint(o.Err), "could not open memory:none") || len(s.Jobs("n")) != 0 {
			t.Errorf("%v, %d jobs", o.Err, len(s.Jobs("n")))
		}
	case <-time.After(10 * time.Second):
		t.Error("one whose body has an _id is retried as a document's")
	}
}

// TestOtherReplicatorDatabases follows databases that come and go, also when the end of one is
// heard of late.
func TestOtherReplicatorDatabases(t *testing.T) {
	s := newTestScheduler(t, nil)
	const name = "x/_replicator"
	running := func() bool {
		d := s.Document(name, "live", "n")
		return d != nil && d.State == "running"
	}
	for range 2 {
		if err := s.store.Create(t.Context(), name, storage.CreateOptions{Q: 1, N: 1}); err != nil {
			t.Fatal(err)
		}
		s.write(t, name, "live", `{"source":"http://s/a","target":"http://t/b","continuous":true}`)
		until(t, "its job", running)
		s.write(t, storage.GlobalChanges, "deleted:"+name, `{}`) // another process tells of an earlier one
		s.write(t, name, "second", `{"source":"http://s/a","target":"http://t/u","continuous":true}`)
		until(t, "both jobs", func() bool { return len(s.Jobs("n")) == 2 && running() })
		if err := s.store.Delete(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		until(t, "the end", func() bool { return len(s.Jobs("n")) == 0 })
	}
}

// pausing is a Sharing that pauses every replication until it is resumed.
type pausing struct {
	alone
	resumed atomic.Int64
}

func (p *pausing) Run(ctx context.Context, _ *Spec, fn func(context.Context) error) error {
	if p.resumed.Load() == 0 {
		return ErrPaused
	}
	return fn(ctx)
}

func (p *pausing) Resume(context.Context, JobID) error {
	p.resumed.Add(1)
	return nil
}

// TestPausedDocumentBeginsAgain: what is paused says why, and begins again when its document is
// saved again, changed or not; not when it is only read again. The pause ends with the document,
// too.
func TestPausedDocumentBeginsAgain(t *testing.T) {
	for _, change := range []string{"", `,"worker_processes":3`} {
		sharing := new(pausing)
		s := newTestProcess(t, newTestStore(t), sharing, nil)
		s.peers["s"].write(1, "")
		const body = `{"source":"http://s/a","target":"http://t/b"`
		paused := func(id string) {
			t.Helper()
			s.write(t, compat.ReplicatorDB, id, body+"}")
			until(t, "the pause", func() bool { return s.state(id) == "crashing" })
			shown := string(s.Document(compat.ReplicatorDB, id, "node").JSON)
			if !strings.Contains(shown, jobs.ErrPaused.Error()) {
				t.Errorf("it does not say why: %s", shown)
			}
		}
		paused("gone")
		s.write(t, compat.ReplicatorDB, "gone", `{"_deleted":true}`)
		until(t, "the end of the pause", func() bool { return sharing.resumed.Load() == 1 })
		sharing.resumed.Store(0)
		paused("again")
		doc, err := s.store.DB(compat.ReplicatorDB).Open(t.Context(), "again", docread.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s.docs.changed(t.Context(), compat.ReplicatorDB, &docChange{id: "again", rev: doc.Rev, body: doc.Body}, false)
		if n := sharing.resumed.Load(); n != 0 || s.state("again") != "crashing" {
			t.Errorf("it was resumed %d times without a reason, and is %s", n, s.state("again"))
		}
		s.write(t, compat.ReplicatorDB, "again", body+change+"}")
		until(t, "the end", func() bool {
			return strings.Contains(s.body(t, compat.ReplicatorDB, "again"), `"_replication_state":"completed"`)
		})
		if n := sharing.resumed.Load(); n != 1 {
			t.Errorf("it was resumed %d times", n)
		}
	}
}
