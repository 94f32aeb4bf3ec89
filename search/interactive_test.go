package search

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/storagetest"
)

// listed is a language of tests: a document lists what it has in an index, as for script.
type listed struct{}

func (listed) Compile(segment.Kind, ejson.Value) (Mapper, error) { return listed{}, nil }

func (listed) Size() int { return 0 }

func (listed) Map(doc ejson.Value) ([]segment.Value, bool, error) {
	if fail, ok := doc.Get("fail"); ok {
		return nil, false, errors.New(fail.Text())
	}
	var f fields
	calls, _ := doc.Get("index")
	for call := range calls.Elements() {
		parts := slices.Collect(call.Elements())
		last := len(parts) - 1
		f.clouseau(parts[:last], parts[last])
	}
	return f.values, len(f.values) > 0, nil
}

const interactiveDesign = `{"language":"listed","indexes":{"i":{"index":{}}}}`

// interactive makes an interactive index.
func (b *bench) interactive(t tester) *Definition {
	t.Helper()
	b.put(t, "_design/i", interactiveDesign)
	def, err := b.indexes.Lookup(context.Background(), b.db, segment.Clouseau, "_design/i", "i")
	must(t, err)
	return def
}

// drop removes an interactive index.
func (b *bench) drop(t tester) {
	t.Helper()
	b.put(t, "_design/i", "")
	must(t, b.indexes.Cleanup(context.Background(), b.db))
}

// found is what a query finds of an index as it is.
func (b *bench) found(t tester, def *Definition, text string) string {
	t.Helper()
	ctx := context.Background()
	out := ""
	must(t, b.indexes.Search(ctx, b.db, def, func(ctx context.Context, s *Searcher) (err error) {
		out, err = askIn(ctx, s, text)
		return err
	}))
	return out
}

// Once an interactive index is built, documents are in it as soon as they are stored, without a
// build; what cannot be indexed is listed, and harms no other.
func TestInteractive(t *testing.T) {
	onEngines(t, func(t *testing.T, b *bench) {
		for i := range 30 {
			b.put(t, fmt.Sprintf("a%02d", i), fmt.Sprintf(`{"index":[["default","old w%d",{}]]}`, i%3))
		}
		def := b.interactive(t)
		want(t, "before it is built", b.found(t, def, "old"), "0 ")
		want(t, "built", b.ask(t, def, "w2")[:3], "10 ")
		b.put(t, "b", `{"index":[["default","fresh",{}]]}`)
		want(t, "a new document", b.found(t, def, "fresh"), "1 b")
		b.put(t, "b", `{"index":[["default","other",{}]]}`)
		b.put(t, "a00", `{"index":[["default","other",{}]]}`)
		want(t, "changed ones", b.found(t, def, "fresh")+b.found(t, def, "other"), "0 2 a00 b")
		b.put(t, "b", "")
		b.purge(t, "a00")
		want(t, "deleted and purged", b.found(t, def, "other"), "0 ")
		b.put(t, "c", `{"fail":"no"}`)
		b.put(t, "a01", `{"fail":"no"}`)
		var errs []string
		must(t, b.indexes.Errors(context.Background(), b.db, def, "", func(e Error) error {
			errs = append(errs, e.ID+" "+e.Message)
			return nil
		}))
		want(t, "errors", strings.Join(errs, ", "), "a01 no, c no")
		behind, err := b.indexes.Behind(context.Background(), b.db, def)
		must(t, err)
		info, err := b.indexes.Info(context.Background(), b.db, def)
		must(t, err)
		want(t, "behind", fmt.Sprint(behind, info.Pending-info.Committed, info.Docs), "false 0 28")
		for range 3 {
			must(t, b.indexes.Fold(context.Background(), b.db))
			for i := range fewEntries {
				b.put(t, fmt.Sprintf("d%02d", i), `{"index":[["default","again",{}]]}`)
			}
			want(t, "after a flush", b.found(t, def, "again")[:2], "8 ")
		}
		b.indexes.running.Wait()
		b.checkStored(t)
		b.drop(t)
		b.put(t, "e", `{"index":[["default","late",{}]]}`)
		b.checkStored(t)
		want(t, "made anew", b.ask(t, b.interactive(t), "late"), "1 e")
	})
}

// A document with too much text for the transaction that stores it is listed, and stored.
func TestInteractiveWithMuchText(t *testing.T) {
	onEngines(t, func(t *testing.T, b *bench) {
		def := b.interactive(t)
		b.ask(t, def, "*:*")
		var values strings.Builder
		for i := range 40 {
			fmt.Fprintf(&values, `,["default","%d%s",{"index":"not_analyzed"}]`, i, strings.Repeat("w", 30_000))
		}
		b.put(t, "large", `{"index":[["default","w1",{}]`+values.String()+`]}`)
		b.put(t, "small", `{"index":[["default","w1",{}]]}`)
		want(t, "found", b.found(t, def, "w1"), "1 small")
		want(t, "built anew", func() string { b.drop(t); return b.ask(t, b.interactive(t), "w1") }(), "1 small")
		n := 0
		must(t, b.indexes.Errors(context.Background(), b.db, def, "", func(e Error) error {
			want(t, "the error", e.ID+" "+e.Message, "large "+tooMuchText)
			n++
			return nil
		}))
		want(t, "errors", n, 1)
	})
}

// TestInteractiveModel: an interactive index shows what a scan of the documents shows, as they are,
// without builds.
func TestInteractiveModel(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	onEngines(t, func(t *testing.T, b *bench) {
		rng := rand.New(rand.NewPCG(5, 6))
		m := newModel()
		for range 30 {
			m.change(t, b, rng)
		}
		def := b.interactive(t)
		must(t, b.indexes.Update(context.Background(), b.db, def))
		for range rounds {
			for range rng.IntN(12) {
				m.change(t, b, rng)
			}
			switch rng.IntN(6) {
			case 0:
				b.restart()
			case 1:
				must(t, b.indexes.Fold(context.Background(), b.db))
			case 2:
				if rng.IntN(3) == 0 {
					b.drop(t)
					def = b.interactive(t)
					must(t, b.indexes.Update(context.Background(), b.db, def))
				}
			}
			for range 3 {
				m.check(t, b, def, rng, true)
			}
			info, err := b.indexes.Info(context.Background(), b.db, def)
			must(t, err)
			want(t, "documents", info.Docs, int64(len(m.docs)))
			if t.Failed() {
				return
			}
		}
		b.indexes.running.Wait()
		b.checkStored(t)
	})
}

// TestInteractiveKills: a process that dies in any commit of the first build of an interactive
// index, of a flush or of a merge, while there are entries that writers have made, leaves an index
// that another process goes on with.
func TestInteractiveKills(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 10
	}
	storagetest.OnEngines(t, func(t *testing.T, engine kv.Store) {
		process := &mortal{Store: engine}
		b := newBench(t, process, storage.CreateOptions{})
		b.dead = true
		b.restart()
		def := b.interactive(t)
		m := newModel()
		rng := rand.New(rand.NewPCG(7, 8))
		kills := 0
		for round, step := 0, 1; round < rounds; round, step = round+1, step+1 {
			if round%2 == 0 {
				b.drop(t)
				def = b.interactive(t)
			}
			for range []int{3, 50}[rng.IntN(2)] {
				m.change(t, b, rng)
			}
			process.killAfter(step, rng.IntN(2) == 0)
			_ = b.indexes.Update(context.Background(), b.db, def)
			_ = b.indexes.Fold(context.Background(), b.db)
			b.indexes.Close()
			killed := b.outlive(t, process, func() {
				for range 5 { // written beside a build that is half done
					m.change(t, b, rng)
				}
				m.check(t, b, def, rng, false)
			})
			if t.Failed() {
				t.Fatalf("round %d, killed in commit %d", round, step)
			}
			if killed {
				kills++
			} else {
				step = 0
			}
		}
		if kills < rounds/2 {
			t.Errorf("%d kills in %d rounds", kills, rounds)
		}
	})
}

// TestInteractiveWrites: each of several writers in three processes finds what it has just written,
// and not what it has deleted, while the index is dropped, built, flushed and merged; conflicting
// revisions that do not win move rows of the feed meanwhile.
func TestInteractiveWrites(t *testing.T) {
	storagetest.OnEngines(t, func(t *testing.T, engine kv.Store) {
		b := newBench(t, engine, storage.CreateOptions{})
		processes := []*bench{b, b.beside(t), b.beside(t)}
		const docs = 60
		for i := range docs {
			b.put(t, fmt.Sprintf("old%02d", i), `{"index":[["default","all old",{}]]}`)
		}
		def := b.interactive(t)
		ctx := context.Background()
		var writers, others sync.WaitGroup
		done := make(chan struct{})
		for _, p := range processes {
			others.Go(func() {
				for {
					err := errors.Join(p.indexes.Update(ctx, p.db, def), p.indexes.Fold(ctx, p.db))
					if err != nil {
						t.Errorf("build: %v", err)
						return
					}
					select {
					case <-done:
						return
					case <-time.After(time.Millisecond):
					}
				}
			})
		}
		for w, p := range processes {
			writers.Go(func() {
				for n := range 20 {
					id := fmt.Sprintf("new%d", w)
					p.put(t, id, fmt.Sprintf(`{"index":[["default","all x%d",{}]]}`, n))
					got, err := p.try(def, fmt.Sprintf("x%d", n))
					if err != nil || !strings.Contains(got, id) {
						t.Errorf("%s: %s %v", id, got, err)
					}
					if n%5 == 4 {
						p.put(t, id, "")
						if got, err := p.try(def, fmt.Sprintf("x%d", n)); err != nil || strings.Contains(got, id) {
							t.Errorf("%s was deleted: %s %v", id, got, err)
						}
					}
					p.conflict(t, fmt.Sprintf("old%02d", (n*7+w)%docs))
				}
			})
		}
		writers.Wait()
		close(done)
		others.Wait()
		for _, p := range processes {
			want(t, "old ones", p.ask(t, def, "old")[:3], fmt.Sprint(docs, " "))
			p.indexes.running.Wait()
		}
		b.checkStored(t)
	})
}

// TestFoldComesFirst: a process that has neither queried nor written an interactive index takes its
// log in, and writers go on with it.
func TestFoldComesFirst(t *testing.T) {
	onEngines(t, func(t *testing.T, b *bench) {
		def := b.interactive(t)
		must(t, b.indexes.Update(t.Context(), b.db, def))
		for i := range 3 * fewEntries {
			b.put(t, fmt.Sprint("doc", i), `{"index":[["default","all",{}]]}`)
		}
		b.restart()
		must(t, b.indexes.Fold(t.Context(), b.db))
		b.indexes.running.Wait()
		entries := int64(0)
		must(t, b.db.View(t.Context(), func(s *storage.Snapshot) error {
			sp := spaceOf(s)
			rec, _, err := readRecord(s.KV(), sp, def.signature)
			if err != nil {
				return err
			}
			value, err := s.KV().Get(sp.keysOf(rec.number).count(countLogEntries))
			entries = keyspace.Counter(value)
			return err
		}))
		if entries >= fewEntries {
			t.Errorf("%d entries are in the log", entries)
		}
		b.put(t, "last", `{"index":[["default","all last",{}]]}`)
		want(t, "last", b.found(t, def, "last")[:2], "1 ")
		want(t, "all", b.found(t, def, "all")[:3], fmt.Sprint(3*fewEntries+1, " "))
	})
}

// TestInteractiveOnSlowStores: a batch that ends because its snapshot became too old leaves out what
// writers have put into the index, as others do, and nothing else.
func TestInteractiveOnSlowStores(t *testing.T) {
	cut := 0
	for pass := 0; pass < 20 && cut < 5; pass++ { // how many are cut is up to the tasks of the store
		for call := range 9 { // the transaction of the build, and the read of it that fails
			for n := 20; n < 40; n++ {
				if buildInteractively(t, call, n) {
					cut++
				}
			}
		}
	}
	if cut < 5 {
		t.Errorf("%d snapshots became too old", cut)
	}
}

// buildInteractively builds an index beside writers. One read becomes too old, if there is such a
// read in a snapshot; cut tells.
func buildInteractively(t *testing.T, call, n int) (cut bool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var building, armed, old atomic.Bool
	var first atomic.Int64
	b := newBench(t, faultkv.New(memkv.New(), faultkv.Plan{
		TooOld: func(r faultkv.Read) bool {
			if !armed.Load() {
				return false
			}
			first.CompareAndSwap(0, int64(r.Call))
			hit := !r.Update && r.Call == int(first.Load())+call && r.N == n
			old.Store(old.Load() || hit)
			return hit
		},
		Commit: func(int, int) faultkv.Outcome {
			if building.Load() {
				cancel() // the build ends when writers know of the index
			}
			return faultkv.Commit
		},
	}), storage.CreateOptions{})
	for i := range 3 {
		b.put(t, fmt.Sprint("old", i), `{"index":[["default","all",{}]]}`)
	}
	def := b.interactive(t)
	building.Store(true)
	if err := b.indexes.Update(ctx, b.db, def); err == nil {
		return false // it was faster
	}
	building.Store(false)
	const written = fewEntries - 2
	for i := range written {
		b.put(t, fmt.Sprint("new", i), `{"index":[["default","all",{}]]}`)
	}
	before := b.places(t, def, "new", written)
	if !slices.ContainsFunc(before, func(place string) bool { return place != "" }) {
		return false // another task of the store committed before writers knew of the index
	}
	armed.Store(true)
	must(t, b.indexes.Update(t.Context(), b.db, def))
	armed.Store(false)
	for i, place := range b.places(t, def, "new", written) {
		if before[i] != "" && place != before[i] {
			t.Errorf("cut at read %d of %d: document %d is indexed again", n, call, i)
		}
	}
	want(t, "all", b.found(t, def, "all")[:2], "9 ")
	b.checkStored(t)
	return old.Load()
}

// places are the identities that an index has of some documents; nothing if there is no such index,
// "" where it has not the document.
func (b *bench) places(t tester, def *Definition, name string, n int) (places []string) {
	must(t, b.db.View(context.Background(), func(s *storage.Snapshot) error {
		sp := spaceOf(s)
		rec, _, err := readRecord(s.KV(), sp, def.signature)
		if err != nil || rec == nil {
			return err
		}
		for i := range n {
			value, err := s.KV().Get(sp.keysOf(rec.number).document(fmt.Sprint(name, i)))
			at, bad := identityIn(value)
			must(t, errors.Join(err, bad))
			places = append(places, string(at))
		}
		return nil
	}))
	return places
}

// conflict gives a document another revision that does not win.
func (b *bench) conflict(t tester, id string) {
	edit := newDoc(t, id, "1-00000000000000000000000000000000", `{}`)
	_, err := b.db.Update(context.Background(), []*compat.Document{edit}, storage.UpdateOptions{Replicated: true})
	must(t, err)
}

// Writers of different documents beside an interactive index do not make each other run again; a
// new document costs no round trip for it, a changed one at most one.
func TestInteractiveCosts(t *testing.T) {
	far := latencykv.New(memkv.New(), latencykv.Options{})
	b := newBench(t, far, storage.CreateOptions{})
	b.put(t, "other", `{"index":[["default","x",{}]]}`)
	var without, with [2]int64
	write := func(id string) (trips [2]int64) {
		for i := range trips {
			rev := ""
			if i > 0 {
				doc, err := b.db.Open(context.Background(), id, docread.OpenOptions{})
				must(t, err)
				rev = doc.Rev.String()
			}
			edit := newDoc(t, id, rev, fmt.Sprintf(`{"index":[["default","x%d",{}]]}`, i))
			far.Reset()
			_, err := b.db.Update(context.Background(), []*compat.Document{edit}, storage.UpdateOptions{})
			must(t, err)
			trips[i] = far.Reset().RoundTrips
		}
		return trips
	}
	write("warm")
	without = write("without")
	def := b.interactive(t)
	b.ask(t, def, "*:*")
	b.indexes.running.Wait() // what the build has left to do reads, too
	write("warm2")
	with = write("with")
	if with[0] > without[0] || with[1] > without[1]+1 {
		t.Errorf("round trips of a new and a changed document: %v, without an index %v", with, without)
	}

	count := kvtest.NewCounting(memkv.New())
	b = newBench(t, count, storage.CreateOptions{})
	def = b.interactive(t)
	b.ask(t, def, "*:*")
	before := count.Counts()
	var writers sync.WaitGroup
	for w := range 16 {
		writers.Go(func() {
			for i := range 20 {
				b.put(t, fmt.Sprintf("w%02d", w), fmt.Sprintf(`{"index":[["default","all x%d",{}]]}`, i))
			}
		})
	}
	writers.Wait()
	n := count.Counts()
	runs, updates := n.Runs-before.Runs, n.Updates-before.Updates
	if float64(runs) > 1.05*float64(updates) {
		t.Errorf("%d runs of %d transactions", runs, updates)
	}
	want(t, "all", b.found(t, def, "all")[:3], "16 ")
	b.checkStored(t)
}
