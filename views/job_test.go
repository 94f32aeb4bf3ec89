package views

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/jobs/jobstest"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// newJobBench is newBench with a queue of jobs.
func newJobBench(t testing.TB) *bench { return newJobBenchOn(t, memkv.New()) }

func newJobBenchOn(t testing.TB, engine kv.Store) *bench {
	b := newHeldBench(t, engine)
	b.views.opts.Jobs.Start()
	return b
}

// newHeldBench is newJobBenchOn with a queue that runs nothing until it is started.
func newHeldBench(t testing.TB, engine kv.Store) *bench {
	ctx := context.Background()
	s, err := storage.Open(ctx, storage.Options{KV: engine, Manual: true})
	must(t, err)
	q, err := jobs.Open(ctx, jobs.Options{
		KV: engine, Prefix: keyspace.JobsPrefix(), Exclusive: true, Owner: "test", Held: true,
	})
	must(t, err)
	v, err := Open(
		Options{
			Store:     s,
			KV:        engine,
			Jobs:      q,
			Languages: map[string]Language{"emitter": emitter{}, languageQuery: emitter{}},
		},
	)
	must(t, err)
	s.SetHooks(storage.Hooks{Indexer: v})
	must(t, s.Create(ctx, "db", storage.CreateOptions{}))
	t.Cleanup(func() {
		must(t, q.Close())
		must(t, v.Close())
		must(t, s.Close())
		must(t, engine.Close())
	})
	return &bench{s, v, s.DB("db")}
}

// marking counts the transactions that let requests go first.
type marking struct {
	kv.Store
	background atomic.Int64
}

func (m *marking) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	if kv.IsInBackground(ctx) {
		m.background.Add(1)
	}
	return m.Store.Update(ctx, fn)
}

// many writes n documents that emit one row each.
func (b *bench) many(t tester, n int) {
	docs := make([]*compat.Document, n)
	for i := range docs {
		docs[i] = newDoc(t, fmt.Sprintf("doc%06d", i), "", fmt.Sprintf(`{"emit":[[%d,1]]}`, i))
	}
	_, err := b.db.Update(context.Background(), docs, storage.UpdateOptions{})
	must(t, err)
}

func TestLargeBuildIsAJob(t *testing.T) {
	b := newJobBench(t)
	b.many(t, 3000)
	b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"a","reduce":"_sum"},"bad":{"map":"a"}}`))
	want(t, "sum", b.query(t, "d", "v", "").rows, "[null=3000]")
	done, err := b.views.opts.Jobs.List(t.Context(), jobType, "", 10)
	must(t, err)
	if len(done) != 1 || done[0].State != jobs.Finished {
		t.Errorf("jobs: %+v", done)
	}
	want(t, "offset", b.query(t, "d", "v", "reduce=false&startkey=2500&limit=1").head.Offset, 2500)
	b.put(t, "_design/broken", designBody("emitter", `{"v":{"map":"broken"}}`))
	err = b.tryQuery("broken", "v", "", discard{})
	if e, ok := compat.AsError(err); !ok || e.Word() != "broken" || e.Status() != 404 {
		t.Errorf("error of a job: %v", err)
	}
}

// TestPausedBuild: a build that ran at three ends of the server is paused. Queries say so, others
// go on, and it goes on when the design document is asked to be compacted, or changed.
func TestPausedBuild(t *testing.T) {
	b := newHeldBench(t, memkv.New())
	b.many(t, 600)
	queue := b.views.opts.Jobs
	var specs []jobs.Spec
	for _, name := range []string{"bad", "worse"} {
		b.put(t, "_design/"+name, designBody("emitter", `{"v":{"map":"`+name+`","reduce":"_sum"}}`))
		d, _, err := b.views.openDesign(t.Context(), b.db, "_design/"+name)
		must(t, err)
		specs = append(specs, jobSpec("db", d))
	}
	jobstest.EndsWhile(t, b.views.opts.KV, keyspace.JobsPrefix(), jobType, false, specs...)
	queue.Start()
	b.put(t, "_design/good", designBody("emitter", `{"v":{"map":"a","reduce":"_sum"}}`))
	want(t, "another build", b.query(t, "good", "v", "").rows, "[null=600]")
	for _, name := range []string{"bad", "worse"} {
		err := b.tryQuery(name, "v", "", discard{})
		if !errors.Is(err, errPaused) || errPaused.Status() != 503 {
			t.Errorf("a paused build answers %v", err)
		}
	}
	for name, why := range map[string]string{"good": "", "bad": jobs.ErrPaused.Error()} {
		info, err := b.views.Info(t.Context(), b.db, "_design/"+name)
		must(t, err)
		want(t, "why it is paused", info.Paused, why)
	}
	paused, err := queue.Paused(t.Context(), 10)
	must(t, err)
	if len(paused) != 2 || DesignOf(&paused[0]) == "" || DesignOf(&paused[0]) == DesignOf(&paused[1]) {
		t.Errorf("paused are %+v", paused)
	}
	b.put(t, "_design/worse", designBody("emitter", `{"v":{"map":"better","reduce":"_sum"}}`))
	want(t, "a changed design document", b.query(t, "worse", "v", "").rows, "[null=600]")
	must(t, b.views.Compact(t.Context(), b.db, "_design/bad"))
	want(t, "after a compaction", b.query(t, "bad", "v", "").rows, "[null=600]")
}

// TestOnlyFirstBuildsWait: jobs that build an index for the first time let requests go first, those
// that bring it up to date, which queries wait for, do not.
func TestOnlyFirstBuildsWait(t *testing.T) {
	engine := &marking{Store: memkv.New()}
	b := newJobBenchOn(t, engine)
	b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"a","reduce":"_sum"}}`))
	b.many(t, 3000)
	want(t, "sum", b.query(t, "d", "v", "").rows, "[null=3000]")
	if engine.background.Load() == 0 {
		t.Error("the first build does not let requests go first")
	}
	engine.background.Store(0)
	for i := range 1000 {
		b.put(t, fmt.Sprintf("more%d", i), `{"emit":[[1,1]]}`)
	}
	want(t, "sum", b.query(t, "d", "v", "").rows, "[null=4000]")
	done, err := b.views.opts.Jobs.List(t.Context(), jobType, "", 10)
	must(t, err)
	if n := engine.background.Load(); n != 0 || len(done) != 1 || done[0].State != jobs.Finished {
		t.Errorf("%d transactions of the update let requests go first; jobs %+v", n, done)
	}
}

// TestInteractiveBuildUp: the index is built up by itself, while documents change.
func TestInteractiveBuildUp(t *testing.T) {
	b := newJobBench(t)
	b.many(t, 1500)
	b.put(t, "_design/q", designBody(languageQuery, `{"v":{"map":"a","reduce":"_sum"}}`))
	for i := range 50 {
		b.put(t, fmt.Sprintf("doc%06d", i*30), fmt.Sprintf(`{"emit":[[%d,2]]}`, i))
	}
	ix, err := b.views.View(t.Context(), b.db, "_design/q", "v")
	must(t, err)
	for ready := false; !ready; time.Sleep(time.Millisecond) {
		ready, err = ix.Ready(t.Context())
		must(t, err)
	}
	want(t, "sum", b.query(t, "q", "v", "").rows, "[null=1550]")
	b.checkStored(t)
	b.put(t, "_design/q", "")
	want(t, "indexes without design document", b.indexes(t), 0)
}

func TestScan(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	b.many(t, 300)
	b.put(t, "_design/q", designBody(languageQuery, `{"v":{"map":"a"}}`))
	ix, err := b.views.View(t.Context(), b.db, "_design/q", "v")
	must(t, err)
	must(t, ix.Wait(t.Context()))
	for _, descending := range []bool{false, true} {
		n := 0
		_, err := ix.Scan(t.Context(), Scan{Descending: descending, Docs: true}, func(row *ScanRow) error {
			at := n
			if descending {
				at = 299 - n
			}
			if want := fmt.Sprintf("doc%06d", at); string(row.ID) != want || row.Doc == nil || row.Doc.ID != want {
				t.Errorf("row %d is of %s", n, row.ID)
			}
			n++
			if n == 250 {
				return storage.ErrStop
			}
			return nil
		})
		must(t, err)
		want(t, "rows", n, 250)
	}
	stop := errors.New("stop")
	if _, err := ix.Scan(t.Context(), Scan{}, func(*ScanRow) error { return stop }); err != stop {
		t.Errorf("error of the callback: %v", err)
	}
}

// TestDatabaseGoes: a query that waits for a build ends when the database is deleted.
func TestDatabaseGoes(t *testing.T) {
	b := newJobBench(t)
	b.many(t, 3000)
	b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"a"}}`))
	done := make(chan error)
	go func() { done <- b.tryQuery("d", "v", "", discard{}) }()
	must(t, b.store.Delete(t.Context(), "db"))
	if err := <-done; err != nil && !errors.Is(err, compat.ErrNoDatabase) {
		t.Errorf("error %v", err)
	}
}

// TestCleanup: an index stays as long as a design document has its map function.
func TestCleanup(t *testing.T) {
	b := newJobBench(t)
	b.many(t, 10)
	b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"a"},"w":{"map":"b"}}`))
	want(t, "total", b.query(t, "d", "v", "").head.TotalRows, 10)
	b.put(t, "_design/d", designBody("emitter", `{"w":{"map":"b"}}`))
	want(t, "indexes", b.indexes(t), 2)
	must(t, b.views.Cleanup(t.Context(), b.db))
	want(t, "indexes after the cleanup", b.indexes(t), 1)
	want(t, "the other one", b.query(t, "d", "w", "update=false").head.TotalRows, 10)
}

// indexes counts the indexes of the database.
func (b *bench) indexes(t tester) (n int) {
	must(t, b.db.View(context.Background(), func(s *storage.Snapshot) error {
		indexes, err := readRecords(s.KV(), spaceOf(s))
		n = len(indexes)
		return err
	}))
	return n
}
