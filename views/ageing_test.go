package views

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// ageing is a store whose snapshots of Views become too old after a number of reads; 0: they do
// not.
type ageing struct {
	kv.Store
	reads  int
	tooOld int // snapshots that did
	remote bool
}

func (a *ageing) Limits() kv.Limits {
	limits := a.Store.Limits()
	if a.remote {
		limits.Together = kv.FDBLimits.Together
	}
	return limits
}

func (a *ageing) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	n, most := 0, a.reads
	return a.Store.View(ctx, func(tx kv.ReadTx) error {
		return fn(wrapkv.GateReads(tx, func() error {
			if n++; most == 0 || n <= most {
				return nil
			}
			if n == most+1 {
				a.tooOld++
			}
			return kv.ErrTooOld
		}))
	})
}

// TestBuildOfSlowReads: a batch that takes longer to read than a snapshot lives is kept as far as
// it was read, and later ones are smaller.
func TestBuildOfSlowReads(t *testing.T) {
	engine := &ageing{Store: memkv.New()}
	b := newBench(t, engine, storage.CreateOptions{})
	b.many(t, 400)
	b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"m"}}`))
	w, err := b.views.View(t.Context(), b.db, "_design/d", "v")
	must(t, err)
	target, err := b.db.Feed().Last(t.Context())
	must(t, err)
	engine.reads = 50 // far fewer than the 400 documents take, which are one batch at first
	must(t, b.views.flights.ensure(t.Context(), b.db, w.design, w.uuid, target.Seq))
	snapshots := engine.tooOld
	engine.reads = 0
	want(t, "rows", len(b.query(t, "d", "v", "").rows), 400)
	if snapshots == 0 || snapshots > 20 {
		t.Errorf("%d snapshots became too old", snapshots)
	}
	b.checkStored(t)
}

// tiredSink fails now and then as one does whose documents cannot be read any more.
type tiredSink struct {
	collected
	rng *rand.Rand
}

func (s *tiredSink) Rows(snap *storage.Snapshot, rows []Row) (int, error) {
	if s.rng.IntN(3) == 0 {
		taken := s.rng.IntN(len(rows))
		_, err := s.collected.Rows(snap, rows[:taken])
		return taken, cmp.Or(err, kv.ErrTooOld)
	}
	return s.collected.Rows(snap, rows)
}

// TestQueriesGoOn: a query whose snapshots become too old at any point gives each row once.
func TestQueriesGoOn(t *testing.T) {
	t.Run("here", func(t *testing.T) { testQueriesGoOn(t, false, 150) })
	t.Run("across a network", func(t *testing.T) { testQueriesGoOn(t, true, 50) })
}

func testQueriesGoOn(t *testing.T, remote bool, least int) {
	engine := &ageing{Store: memkv.New(), remote: remote}
	b := newBench(t, engine, storage.CreateOptions{})
	for i := range 150 {
		b.put(
			t,
			fmt.Sprintf("doc%03d", i),
			fmt.Sprintf(`{"emit":[[%d,1],[[1,%d],2],[1.0,3],[1,4],[1,%d]]}`, i%7, i%40, i),
		)
	}
	b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"a","reduce":"_sum"}}`))
	options := []string{
		"reduce=false", "reduce=false&descending=true", "reduce=false&skip=333&limit=200", "reduce=false&skip=333&descending=true",
		`reduce=false&keys=[1,[1,3],2,1]`, "group=true", "group=true&descending=true&skip=3", "group_level=1", "",
		`group=true&keys=[[1,3],2,7,[1,4],1,[1,3]]`,
		`group=true&keys=[[1,3],2,7,[1,4],1.0,[1,3]]&stored_keys=true&skip=1&limit=4&descending=true`,
	}
	answers := make(map[string]*collected)
	for _, o := range options {
		answers[o] = b.query(t, "d", "v", o)
	}
	whole := 0
	for n := 60; n < 600; n += n / 10 {
		for i, o := range options {
			sink := &tiredSink{rng: rand.New(rand.NewPCG(uint64(n), uint64(i)))}
			engine.reads = n
			err := b.tryQuery("d", "v", o, sink)
			engine.reads = 0
			if errors.Is(err, kv.ErrTooOld) { // every snapshot was too old for a single row
				continue
			}
			must(t, err)
			whole++
			want(t, fmt.Sprintf("%s after %d reads", o, n), sink.rows, answers[o].rows)
			want(t, "head", sink.head, answers[o].head)
		}
	}
	if whole < least {
		t.Errorf("only %d queries came to an end", whole)
	}
}
