package search

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/search/index"
	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/storagetest"
)

// modelDoc is a document as a list of words, a number and a value that is counted.
type modelDoc struct {
	id      string
	updated int // in which order documents were written last
	words   []string
	n       int
	place   string
}

func (d *modelDoc) body() string {
	return fmt.Sprintf(`{"index":[["default",%q,{}],["n",%d,{"store":true}],["place",%q,{"facet":true,`+
		`"index":"not_analyzed"}]],"nouveau":[["text","body",%q,{}],["double","n",%d,{}],["string","place",%q,{}]]}`,
		strings.Join(d.words, " "), d.n, d.place, strings.Join(d.words, " "), d.n, d.place)
}

// modelQuery is a query with what it means.
type modelQuery struct {
	text  string
	holds func(d *modelDoc) bool
}

// words that the model's texts have; none is a stop word.
var vocabulary = []string{"red", "green", "blue", "black", "white"}

func randomQuery(rng *rand.Rand, text string, depth int) modelQuery {
	word := vocabulary[rng.IntN(len(vocabulary))]
	switch kind := rng.IntN(9); {
	case kind == 0:
		return modelQuery{text + ":" + word, func(d *modelDoc) bool { return slices.Contains(d.words, word) }}
	case kind == 1:
		return modelQuery{text + ":bl*", func(d *modelDoc) bool {
			return slices.Contains(d.words, "blue") || slices.Contains(d.words, "black")
		}}
	case kind == 2:
		next := vocabulary[rng.IntN(len(vocabulary))]
		return modelQuery{fmt.Sprintf(`%s:"%s %s"`, text, word, next), func(d *modelDoc) bool {
			for i := 1; i < len(d.words); i++ {
				if d.words[i-1] == word && d.words[i] == next {
					return true
				}
			}
			return false
		}}
	case kind == 3:
		from := rng.IntN(10)
		to := from + rng.IntN(5)
		return modelQuery{fmt.Sprintf("n:[%d TO %d]", from, to), func(d *modelDoc) bool {
			return d.n >= from && d.n <= to
		}}
	case kind == 4:
		return modelQuery{"place:" + word, func(d *modelDoc) bool { return d.place == word }}
	case kind == 5 || depth == 0:
		return modelQuery{"*:*", func(*modelDoc) bool { return true }}
	}
	a, b := randomQuery(rng, text, depth-1), randomQuery(rng, text, depth-1)
	switch rng.IntN(3) {
	case 0:
		return modelQuery{"(" + a.text + ") AND (" + b.text + ")", func(d *modelDoc) bool {
			return a.holds(d) && b.holds(d)
		}}
	case 1:
		return modelQuery{"(" + a.text + ") OR (" + b.text + ")", func(d *modelDoc) bool {
			return a.holds(d) || b.holds(d)
		}}
	}
	return modelQuery{"(" + a.text + ") NOT (" + b.text + ")", func(d *modelDoc) bool {
		return a.holds(d) && !b.holds(d)
	}}
}

// model is documents in a list, and queries by looking at each.
type model struct {
	docs    map[string]*modelDoc
	failed  map[string]bool // documents that cannot be indexed; false: by Nouveau only
	updates int
}

func newModel() *model { return &model{docs: map[string]*modelDoc{}, failed: map[string]bool{}} }

// change changes a document at random: writes, deletes or purges it, or makes it one that cannot be
// indexed.
func (m *model) change(t tester, b *bench, rng *rand.Rand) {
	id := fmt.Sprintf("d%02d", rng.IntN(40))
	m.updates++
	delete(m.docs, id)
	delete(m.failed, id)
	switch rng.IntN(12) {
	case 0:
		b.put(t, id, "")
	case 1:
		b.purge(t, id)
	case 2:
		b.put(t, id, `{"fail":"no"}`)
		m.failed[id] = true
	case 3:
		b.put(t, id, `{"index":[["default",1]],"nouveau":[["double","body",1,{}]]}`)
		m.failed[id] = false
	default:
		d := &modelDoc{id: id, updated: m.updates, n: rng.IntN(12), place: vocabulary[rng.IntN(3)]}
		for range 1 + rng.IntN(6) {
			d.words = append(d.words, vocabulary[rng.IntN(len(vocabulary))])
		}
		b.put(t, id, d.body())
		m.docs[id] = d
	}
}

// check asks an index, by pages of a few hits, and compares with the model.
func (m *model) check(t tester, b *bench, def *Definition, rng *rand.Rand, stale bool) {
	text := "default"
	if def.Kind == segment.Nouveau {
		text = "body"
	}
	q := randomQuery(rng, text, 3)
	var found []*modelDoc
	places := map[string]int64{}
	for _, d := range m.docs {
		if q.holds(d) {
			found = append(found, d)
			places[d.place]++
		}
	}
	slices.SortFunc(found, func(x, y *modelDoc) int {
		if def.Kind == segment.Nouveau {
			return cmp.Or(cmp.Compare(x.n, y.n), cmp.Compare(x.id, y.id))
		}
		return cmp.Or(cmp.Compare(x.n, y.n), cmp.Compare(x.updated, y.updated))
	})
	var expected []string
	for _, d := range found {
		expected = append(expected, d.id)
	}
	ctx := context.Background()
	if !stale {
		must(t, b.indexes.Update(ctx, b.db, def))
	}
	var got []string
	must(t, b.indexes.Search(ctx, b.db, def, func(ctx context.Context, s *Searcher) error {
		got = nil
		n, err := s.Parse(q.text, "", query.Options{})
		if err != nil {
			return err
		}
		request := &index.Request{Query: n, Limit: 7}
		if s.HasStrings() {
			request.Counts = []string{"place"}
		}
		if request.Sort, err = s.ParseSort([]string{"n"}); err != nil {
			return err
		}
		for page := 0; page == 0 || request.After != nil; page++ {
			result, err := s.Index.Search(ctx, request)
			if err != nil {
				return err
			}
			want(t, q.text+": total", result.Total, int64(len(found)))
			if request.Counts != nil {
				want(t, q.text+": counts", fmt.Sprint(result.Counts["place"]), fmt.Sprint(places))
			}
			request.After = nil
			for i := range result.Hits {
				got = append(got, result.Hits[i].ID)
				request.After = &index.After{Values: result.Hits[i].Sort, Identity: result.Hits[i].Identity}
			}
		}
		return nil
	}))
	want(t, q.text, strings.Join(got, " "), strings.Join(expected, " "))
}

// checkErrors compares the documents that an index lists as ones that it could not take.
func (m *model) checkErrors(t tester, b *bench, def *Definition) {
	t.Helper()
	var listed []string
	must(t, b.indexes.Errors(context.Background(), b.db, def, "", func(e Error) error {
		listed = append(listed, e.ID)
		return nil
	}))
	failed := maps.Clone(m.failed)
	maps.DeleteFunc(failed, func(_ string, all bool) bool { return !all && def.Kind != segment.Nouveau })
	want(t, "documents that cannot be indexed", fmt.Sprint(listed), fmt.Sprint(slices.Sorted(maps.Keys(failed))))
}

// TestModel: indexes of both kinds show what a scan of the documents shows, while these change, are
// purged, cannot be indexed, which is listed; over flushes, merges and restarts.
func TestModel(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	onEngines(t, func(t *testing.T, b *bench) {
		b.put(t, "_design/d", design)
		defs := []*Definition{b.lookup(t, segment.Clouseau, "c"), b.lookup(t, segment.Nouveau, "n")}
		m := newModel()
		// A first document says which types the fields have.
		first := &modelDoc{id: "first", words: vocabulary, place: "red"}
		b.put(t, first.id, first.body())
		m.docs[first.id] = first
		rng := rand.New(rand.NewPCG(1, 2))
		sets := 0
		for round := range rounds {
			changes := rng.IntN(12)
			if round%8 == 7 { // enough for segments without a detour by the log
				changes = 60
			}
			for range changes {
				m.change(t, b, rng)
			}
			if rng.IntN(6) == 0 {
				b.restart()
			}
			for i, def := range defs {
				m.check(t, b, def, rng, false)
				for range 3 {
					m.check(t, b, def, rng, true)
					m.checkBest(t, b, def, rng)
				}
				info, err := b.indexes.Info(context.Background(), b.db, def)
				must(t, err)
				want(t, fmt.Sprint("documents of ", i, " in round ", round), info.Docs, int64(len(m.docs)))
				m.checkErrors(t, b, def)
			}
			if t.Failed() {
				return
			}
			sets = max(sets, b.indexes.frequent.Len())
		}
		if sets == 0 {
			t.Error("no query was answered by sets")
		}
		b.indexes.running.Wait()
		b.checkStored(t)
	})
}

// checkStored holds what is stored to what Check verifies.
func (b *bench) checkStored(t tester) {
	t.Helper()
	violations, err := Check(context.Background(), b.engine, b.store)
	must(t, err)
	for _, v := range violations {
		t.Errorf("%s", v)
	}
}

// TestTwoProcesses: each of several writers finds what it has just written, whichever of two
// processes it asks, while both build, flush and merge.
func TestTwoProcesses(t *testing.T) {
	storagetest.OnEngines(t, func(t *testing.T, engine kv.Store) {
		b := newBench(t, engine, storage.CreateOptions{})
		b.put(t, "_design/d", design)
		def := b.lookup(t, segment.Clouseau, "c")
		other := New(Options{
			Store: b.store, KV: b.engine, JS: script{}, flushEntries: fewEntries, directDocs: fewDirect,
		})
		defer other.Close()
		processes := []*Indexes{b.indexes, other}
		var running sync.WaitGroup
		for writer := range 4 {
			running.Go(func() {
				own := &bench{engine: b.engine, store: b.store, db: b.db, indexes: processes[writer%2]}
				for i := range 15 {
					id := fmt.Sprintf("w%dy%d", writer, i)
					edits := []*compat.Document{newDoc(t, id, "", `{"index":[["default","all x`+id+`",{}]]}`)}
					_, err := own.db.Update(context.Background(), edits, storage.UpdateOptions{})
					if err != nil {
						t.Error(err)
						return
					}
					got, err := own.try(def, "x"+id)
					if err != nil || got != "1 "+id {
						t.Errorf("%s: %s %v", id, got, err)
						return
					}
				}
			})
		}
		running.Wait()
		b.indexes.running.Wait()
		other.running.Wait()
		out, err := b.try(def, "all")
		must(t, err)
		if !strings.HasPrefix(out, "60 ") {
			t.Errorf("all: %s", out)
		}
		b.checkStored(t)
	})
}
