package views

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/views/progress"
)

// piecesDesign has two indexes, which are cut together.
const piecesDesign = `{"v":{"map":"m","reduce":"_sum"},"w":{"map":"n","reduce":"_count"}}`

// compareBuilt compares the views of _design/d with brute force, what is stored with itself, and
// sizes with those of the same indexes as one process builds them.
func (b *bench) compareBuilt(t *testing.T) {
	t.Helper()
	rows := b.bruteForce(t, false)
	for _, view := range []string{"v", "w"} {
		c := b.query(t, "d", view, "reduce=false")
		want(t, "rows of "+view, c.rows, rows)
		want(t, "total of "+view, c.head.TotalRows, len(rows))
	}
	want(t, "count", b.query(t, "d", "w", "").rows, fmt.Sprintf("[null=%d]", len(rows)))
	b.checkStored(t)
	alone := b.views.opts
	alone.Jobs, alone.Nodes = nil, nil
	v, err := Open(alone)
	must(t, err)
	defer v.Close()
	one := &bench{b.store, v, b.db}
	one.put(t, "_design/one", designBody("emitter", `{"v":{"map":"o","reduce":"_sum"},"w":{"map":"p","reduce":"_count"}}`))
	one.query(t, "one", "v", "")
	b.query(t, "d", "v", "")
	sizes := func(ddoc string) [2]int64 {
		info, err := v.Info(t.Context(), b.db, ddoc)
		must(t, err)
		return [2]int64{info.SizeExternal, info.SizeActive}
	}
	want(t, "sizes", sizes("_design/d"), sizes("_design/one"))
}

// state is what the records say of the indexes, and the build in pieces that is under way, nil if
// there is none.
func (b *bench) state(t tester) (indexes []*index, set *pieceSet) {
	t.Helper()
	must(t, b.db.View(context.Background(), func(s *storage.Snapshot) (err error) {
		if indexes, err = readRecords(s.KV(), spaceOf(s)); err != nil {
			return err
		}
		for _, ix := range indexes {
			if lead := ix.rec.pieces; lead != 0 && set == nil {
				set, err = readPieces(s.KV(), spaceOf(s), lead)
			}
		}
		return err
	}))
	return indexes, set
}

// build begins to query _design/d at a process and gives the error of that.
func (p *process) build() <-chan error {
	done := make(chan error, 1)
	go func() { done <- p.tryQuery("d", "v", "limit=1&reduce=false", discard{}) }()
	return done
}

// pieces counts the jobs of pieces by how they are.
func (p *process) pieces(t tester) map[jobs.State]int {
	t.Helper()
	list, err := p.jobs.List(context.Background(), pieceJobType, "", 1000)
	must(t, err)
	states := make(map[jobs.State]int)
	for _, job := range list {
		states[job.State]++
	}
	return states
}

// piecesFinished sees that there were some pieces, and that all are built.
func (p *process) piecesFinished(t tester) {
	t.Helper()
	if states := p.pieces(t); states[jobs.Finished] < 6 || len(states) > 1 {
		t.Errorf("pieces: %v", states)
	}
}

// write changes documents of those that the index is built from, and new ones.
func (b *bench) write(t *testing.T, rng *rand.Rand, n int) {
	for range n {
		id := fmt.Sprintf("doc%06d", rng.IntN(pieceDocuments+50))
		switch rng.IntN(8) {
		case 0:
			b.put(t, id, "")
		case 1:
			b.purge(t, id)
		case 2:
			b.put(t, id, `{"fail":"no"}`)
		default:
			b.put(t, id, fmt.Sprintf(`{"emit":[[%d,%d],["g",1],["g",2]]}`, rng.IntN(30), rng.IntN(9)))
		}
		time.Sleep(time.Millisecond)
	}
}

// TestPieces: processes build the indexes of a design document in pieces, while documents come,
// change, go and are purged.
func TestPieces(t *testing.T) {
	var building atomic.Bool // reads of what compares cannot all be made again
	for name, open := range map[string]func() kv.Store{
		"memory":  func() kv.Store { return memkv.New() },
		"network": func() kv.Store { return latencykv.New(memkv.New(), latencykv.Options{}) },
		"faults": func() kv.Store {
			plan := faultkv.Random(1, faultkv.Rates{
				Conflict: 0.2, UnknownAborted: 0.1, UnknownCommitted: 0.1, TooOld: 0.05, TooOldRead: 0.001,
			})
			plan.Unknown = runtime.Gosched // the clock of the test stands while others wait for a lock
			random := plan.TooOld
			plan.TooOld = func(r faultkv.Read) bool { return building.Load() && random(r) }
			return faultkv.New(memkv.New(), plan)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := open()
				defer store.Close()
				all := openProcesses(t, store, 3)
				defer stopAll(t, all)
				all[1].put(t, "_design/d", designBody("emitter", piecesDesign))
				meet(all...)
				var writers sync.WaitGroup
				for n, p := range all {
					writers.Go(func() { p.write(t, rand.New(rand.NewPCG(1, uint64(n))), 100) })
				}
				building.Store(true)
				must(t, <-all[0].build())
				building.Store(false)
				writers.Wait()
				for i, p := range all {
					if p.mapped.Load() == 0 {
						t.Errorf("process %d has built nothing", i)
					}
				}
				all[0].piecesFinished(t)
				for _, p := range all {
					p.compareBuilt(t)
				}
			})
		})
	}
}

// TestPieceIsInherited: a process that is killed in the middle of a piece leaves it to others, and
// one that was only held up writes nothing of it any more.
func TestPieceIsInherited(t *testing.T) {
	for _, kill := range []bool{true, false} {
		t.Run(fmt.Sprint("killed ", kill), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memkv.New()
				defer store.Close()
				all := openProcesses(t, store, 3)
				defer stopAll(t, all)
				all[0].put(t, "_design/d", designBody("emitter", piecesDesign))
				meet(all...)
				victim := all[2]
				lost := make(chan func(), 1)
				met, first := *victim.hook.Load(), atomic.Bool{}
				victim.onMap(func(n int64) {
					met(n)
					if first.CompareAndSwap(false, true) {
						lost <- victim.way.hold()
					}
				})
				done := all[0].build()
				release := <-lost
				if kill {
					victim.kill()
					release()
				}
				must(t, <-done)
				all[0].piecesFinished(t)
				before := all[0].query(t, "d", "v", "reduce=false").rows
				if !kill {
					release()
					time.Sleep(time.Minute) // it notices
					all[0].checkStored(t)
					want(t, "rows", all[0].query(t, "d", "v", "reduce=false&update=false").rows, before)
				}
				all[0].compareBuilt(t)
				if !kill {
					victim.compareBuilt(t)
				}
			})
		})
	}
}

// TestPausedPiece: of two who build one piece, which the jobs keep from happening, one commits a
// batch and the other goes on after it.
func TestPausedPiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		defer store.Close()
		all := openProcesses(t, store, 2)
		defer stopAll(t, all)
		all[0].put(t, "_design/d", designBody("emitter", piecesDesign))
		lead := all[0].cutOnly(t)
		second := all[1].pieceBuilder(t)
		var first atomic.Bool
		all[0].onMap(func(int64) {
			if !first.Swap(true) { // what this one has read is built meanwhile
				must(t, second.buildPiece(t.Context(), lead, 1))
			}
		})
		must(t, all[0].pieceBuilder(t).buildPiece(t.Context(), lead, 1))
		_, set := all[0].state(t)
		if c := set.pieces[1]; !c.ended() || c.done != c.total {
			t.Errorf("the piece: %+v", c)
		}
		all[0].checkStored(t)
		must(t, <-all[0].build())
		all[0].compareBuilt(t)
	})
}

// TestChangesBesidePiece: what becomes of documents between the time when a piece has read them and
// its commit.
func TestChangesBesidePiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		defer store.Close()
		all := openProcesses(t, store, 2)
		defer stopAll(t, all)
		b := all[0]
		b.put(t, "_design/d", designBody("emitter", piecesDesign))
		_, err := b.pieceBuilder(t).prepare(t.Context()) // the indexes are there before these documents
		must(t, err)
		b.more(t, 600, `{"emit":[[1,1]]}`)
		lead := b.cutOnly(t)
		indexes, set := b.state(t)
		last, err := b.db.Feed().Last(t.Context())
		must(t, err)
		want(t, "where the pieces end", set.pieces[len(set.pieces)-1].end, last.Seq)
		want(t, "what need not be looked up", indexes[0].rec.fresh, last.Seq)
		var first atomic.Bool
		b.onMap(func(int64) {
			if first.Swap(true) {
				return
			}
			at := set.pieces[0].total
			b.purge(t, fmt.Sprintf("doc%06d", at+10))
			b.put(t, fmt.Sprintf("doc%06d", at+11), "")
			b.put(t, fmt.Sprintf("doc%06d", at+12), `{"emit":[[7,7],[8,8],[9,9]]}`)
			b.put(t, fmt.Sprintf("doc%06d", at+13), `{"fail":"no"}`)
			b.purge(t, fmt.Sprintf("doc%06d", at+14))
			b.put(t, fmt.Sprintf("doc%06d", at+14), `{"emit":[[7,7]]}`)
		})
		must(t, b.pieceBuilder(t).buildPiece(t.Context(), lead, 1))
		b.checkStored(t)
		must(t, <-b.build())
		b.compareBuilt(t)
	})
}

// pieceBuilder is a builder of _design/d that is no job.
func (p *process) pieceBuilder(t *testing.T) *builder {
	d, uuid, err := p.views.openDesign(t.Context(), p.db, "_design/d")
	must(t, err)
	return &builder{v: p.views, db: p.db, uuid: uuid, design: d, task: progress.New("db", "_design/d")}
}

// cutOnly cuts the build of _design/d and gives who leads it.
func (p *process) cutOnly(t *testing.T) int64 {
	t.Helper()
	b := p.pieceBuilder(t)
	_, err := b.prepare(t.Context())
	must(t, err)
	cut, err := b.cut(t.Context())
	must(t, err)
	_, set := p.state(t)
	if !cut || set == nil {
		t.Fatal("the build is not cut")
	}
	p.checkStored(t)
	return set.lead
}

// TestUnfinishedPieces: while there are pieces an index is at the beginning of the feed, whatever
// rows it has; who asks for it as it is gets these.
func TestUnfinishedPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		defer store.Close()
		all := openProcesses(t, store, 2)
		defer stopAll(t, all)
		b := all[0]
		b.put(t, "_design/d", designBody("emitter", piecesDesign))
		lead := b.cutOnly(t)
		ask := func() *collected { return b.query(t, "d", "v", "reduce=false&update=false&update_seq=true") }
		want(t, "rows before the first piece", ask().head.TotalRows, 0)
		must(t, b.pieceBuilder(t).buildPiece(t.Context(), lead, 3))
		_, set := b.state(t)
		c := ask()
		if rows := 2 * set.pieces[3].done; rows == 0 || c.head.TotalRows != rows || int64(len(c.rows)) != rows {
			t.Errorf("%d rows, total %d, of a piece of %d", len(c.rows), c.head.TotalRows, set.pieces[3].done)
		}
		want(t, "update_seq", c.head.UpdateSeq.Seq, storage.Seq{})
		want(t, "sum", b.query(t, "d", "w", "update=false").rows, fmt.Sprintf("[null=%d]", c.head.TotalRows))
		info, err := b.views.Info(t.Context(), b.db, "_design/d")
		must(t, err)
		if info.UpdateSeq.N != 0 || info.UpdatesPending != pieceDocuments+1 || info.SizeExternal == 0 {
			t.Errorf("info %+v", info)
		}
		b.purge(t, fmt.Sprintf("doc%06d", set.pieces[0].total+set.pieces[1].total+set.pieces[2].total+10))
		want(t, "rows after a purge", ask().head.TotalRows, c.head.TotalRows-2)
		b.checkStored(t)
		indexes, _ := b.state(t)
		want(t, "the record after a purge", indexes[0].rec.claims, 0)
		must(t, <-b.build())
		want(t, "rows", ask().head.TotalRows, 2*pieceDocuments-2)
		b.compareBuilt(t)
	})
}

// TestProgressOfPieces: the job of the build shows what all have done.
func TestProgressOfPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		defer store.Close()
		all := openProcesses(t, store, 2)
		defer stopAll(t, all)
		all[0].put(t, "_design/d", designBody("emitter", piecesDesign))
		var shown string
		all[0].onMap(func(n int64) {
			if n == 1200 {
				time.Sleep(10 * time.Second)
				running, err := all[1].jobs.Running(t.Context(), "", 100)
				must(t, err)
				for _, job := range running {
					shown += string(job.Progress)
				}
			}
		})
		must(t, <-all[0].build())
		var done, total int64
		_, err := fmt.Sscanf(shown, `{"type":"indexer","database":"db","design_document":"_design/d",`+
			`"changes_done":%d,"total_changes":%d`, &done, &total)
		if err != nil || done == 0 || total != pieceDocuments+1 {
			t.Errorf("tasks %s: %v", shown, err)
		}
	})
}

// slowed is a store whose transactions take a time while slow is set, which others need not wait
// for.
type slowed struct {
	kv.Store
	slow atomic.Bool
}

func (s *slowed) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	if s.slow.Load() {
		time.Sleep(3 * time.Millisecond)
	}
	return s.Store.View(ctx, fn)
}

func (s *slowed) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	if s.slow.Load() {
		time.Sleep(8 * time.Millisecond)
	}
	return s.Store.Update(ctx, fn)
}

// TestPieceSize: each of four processes has eight pieces, within the bounds of a piece and of a
// build.
func TestPieceSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		defer store.Close()
		all := openProcesses(t, store, 4)
		defer stopAll(t, all)
		v := all[0].views
		v.opts.pieceChanges = defaultPieceChanges
		for pending, want := range map[int64]int64{
			20_000: 2_500, 100_000: 3_125, 320_000: 10_000, 1_000_000: 10_000, 10_000_000: 39_062,
		} {
			if got := v.opts.pieceSize(pending); got != want {
				t.Errorf("pieces of %d changes of %d, want %d", got, pending, want)
			}
		}
	})
}

// TestMoreProcessesBuildFaster, by a clock by which only maps and the network take time: 20,000
// documents a second for each of a process's two workers.
func TestMoreProcessesBuildFaster(t *testing.T) {
	kvtest.Long(t)
	var took []time.Duration
	for _, n := range []int{1, 2, 4} {
		synctest.Test(t, func(t *testing.T) {
			store := &slowed{Store: latencykv.New(memkv.New(), latencykv.Options{})}
			defer store.Close()
			all := openProcesses(t, store, n)
			defer stopAll(t, all)
			all[0].more(t, 36_000, `{"emit":[[1,1]]}`)
			all[0].put(t, "_design/d", designBody("emitter", `{"v":{"map":"m","reduce":"_sum"}}`))
			for _, p := range all {
				p.views.opts.pieceChanges = 5000
				p.onMap(func(int64) { time.Sleep(50 * time.Microsecond) })
			}
			store.slow.Store(true)
			began := time.Now()
			must(t, <-all[0].build())
			took = append(took, time.Since(began))
			store.slow.Store(false)
		})
	}
	t.Logf("1, 2 and 4 processes: %v", took)
	if took[1] >= took[0] || took[2] >= took[1] {
		t.Errorf("1, 2 and 4 processes take %v", took)
	}
}
