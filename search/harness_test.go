package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/search/index"
	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/storagetest"
)

// The words of the kit.
var (
	must   = storagetest.Must
	want   = storagetest.Want
	newDoc = storagetest.Doc
)

type tester = storagetest.T

// script is JavaScript of tests: a document lists in `index` (in `nouveau` for the function g) what
// its function calls index() with, the options last; `fail` is what it throws, and `fatal` what
// ends the whole call.
type script struct{}

func (script) CheckMap(_ context.Context, _, source string) error {
	if source == "broken" {
		return compat.NewError(compat.KindCompilationError, "broken")
	}
	return nil
}

func (script) Map(_ context.Context, program *js.MapProgram, docs [][]byte) ([]js.DocResult, error) {
	var results []js.DocResult
	for _, text := range docs {
		doc, err := ejson.Parse(text)
		if err != nil {
			return nil, err
		}
		if fatal, ok := doc.Get("fatal"); ok {
			return nil, compat.NewError(compat.KindUnknown, fatal.Text())
		}
		var result js.MapResult
		if fail, ok := doc.Get("fail"); ok {
			result.Err = fail.Text()
		}
		member := "index"
		if program.Maps[0] == "g" {
			member = "nouveau"
		}
		calls, _ := doc.Get(member)
		for call := range calls.Elements() {
			var parts []string
			for part := range call.Elements() {
				parts = append(parts, string(part.Raw()))
			}
			last := len(parts) - 1
			result.Rows = append(result.Rows, js.Emitted{
				Key: []byte("[" + strings.Join(parts[:last], ",") + "]"), Value: []byte(parts[last]),
			})
		}
		results = append(results, js.DocResult{result})
	}
	return results, nil
}

// bench is a store with search indexes.
type bench struct {
	engine  kv.Store
	store   *storage.Store
	indexes *Indexes
	db      *storage.DB
	jobs    *jobs.Queue // of merges, nil without
	dead    bool        // processes that were there before are dead: what they have claimed is free
}

const (
	fewEntries = 8
	fewDirect  = 20
)

func newBench(t testing.TB, engine kv.Store, o storage.CreateOptions) *bench {
	s, err := storage.Open(context.Background(), storage.Options{KV: engine, Manual: true})
	must(t, err)
	b := &bench{engine: engine, store: s}
	b.restart()
	must(t, s.Create(context.Background(), "db", o))
	b.db = s.DB("db")
	t.Cleanup(func() {
		b.indexes.Close()
		must(t, s.Close())
		must(t, engine.Close())
	})
	return b
}

// beside is another process on the same store, which ends before b does.
func (b *bench) beside(t testing.TB) *bench {
	store, err := storage.Open(context.Background(), storage.Options{KV: b.engine, Manual: true})
	must(t, err)
	other := &bench{engine: b.engine, store: store, db: store.DB("db")}
	other.restart()
	t.Cleanup(func() {
		other.indexes.Close()
		must(t, store.Close())
	})
	return other
}

// restart forgets what the process remembers.
func (b *bench) restart() {
	if b.indexes != nil {
		b.indexes.Close()
	}
	o := Options{
		Store: b.store, KV: b.engine, JS: script{}, Languages: map[string]Language{"listed": listed{}},
		flushEntries: fewEntries, directDocs: fewDirect, frequent: 1, Jobs: b.jobs,
	}
	if b.dead {
		o.claimTime = 1
	}
	b.indexes = New(o)
	b.store.SetHooks(storage.Hooks{Indexer: b.indexes})
}

func onEngines(t *testing.T, test func(t *testing.T, b *bench)) {
	storagetest.OnEngines(t, func(t *testing.T, engine kv.Store) {
		engine = kvtest.Checked(engine, func(violation string) { t.Error(violation) })
		test(t, newBench(t, engine, storage.CreateOptions{}))
	})
}

func (b *bench) put(t tester, id, body string) {
	t.Helper()
	rev := ""
	deleted := body == ""
	doc, err := b.db.Open(context.Background(), id, docread.OpenOptions{})
	if err == nil {
		rev = doc.Rev.String()
	} else if deleted {
		return
	}
	edit := newDoc(t, id, rev, map[bool]string{true: "{}", false: body}[deleted])
	edit.Deleted = deleted
	results, err := b.db.Update(context.Background(), []*compat.Document{edit}, storage.UpdateOptions{})
	must(t, err)
	if results[0].Err != nil {
		t.Errorf("%s: %v", id, results[0].Err)
	}
}

func (b *bench) purge(t tester, id string) {
	t.Helper()
	doc, err := b.db.Open(context.Background(), id, docread.OpenOptions{})
	if err != nil {
		return
	}
	_, err = b.db.Purge(context.Background(), []storage.IDRevs{{ID: id, Revs: []compat.Rev{doc.Rev}}})
	must(t, err)
}

func (b *bench) lookup(t tester, kind segment.Kind, name string) *Definition {
	t.Helper()
	def, err := b.indexes.Lookup(context.Background(), b.db, kind, "_design/d", name)
	must(t, err)
	return def
}

// ask is one query: ids of the hits, the total.
func (b *bench) ask(t tester, def *Definition, text string, sort ...string) string {
	t.Helper()
	out, err := b.try(def, text, sort...)
	must(t, err)
	return out
}

func (b *bench) try(def *Definition, text string, sort ...string) (out string, err error) {
	ctx := context.Background()
	if err := b.indexes.Update(ctx, b.db, def); err != nil {
		return "", err
	}
	err = b.indexes.Search(ctx, b.db, def, func(ctx context.Context, s *Searcher) error {
		out, err = askIn(ctx, s, text, sort...)
		return err
	})
	return out, err
}

// askIn asks an index that is open.
func askIn(ctx context.Context, s *Searcher, text string, sort ...string) (out string, err error) {
	n, err := s.Parse(text, "", query.Options{})
	if err != nil {
		return "", err
	}
	q := &index.Request{Query: n, Limit: 1000}
	if q.Sort, err = s.ParseSort(sort); err != nil {
		return "", err
	}
	result, err := s.Index.Search(ctx, q)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, h := range result.Hits {
		ids = append(ids, h.ID)
	}
	if len(sort) == 0 {
		slices.Sort(ids)
	}
	return fmt.Sprint(result.Total, " ", strings.Join(ids, " ")), nil
}

const design = `{"indexes":{"c":{"index":"f"},"broken":{"index":"broken"}},"nouveau":{"n":{"index":"g"}}}`

func TestSmoke(t *testing.T) {
	onEngines(t, func(t *testing.T, b *bench) {
		b.put(t, "_design/d", design)
		c := b.lookup(t, segment.Clouseau, "c")
		want(t, "nothing", b.ask(t, c, "*:*"), "0 ")
		for i := range 40 {
			b.put(t, fmt.Sprintf("d%02d", i), fmt.Sprintf(`{"index":[["default","word w%d",{}],["n",%d,{}]]}`, i%4,
				i))
			if i%7 == 0 {
				b.ask(t, c, "word")
			}
		}
		want(t, "a word", b.ask(t, c, "w3"), "10 d03 d07 d11 d15 d19 d23 d27 d31 d35 d39")
		b.put(t, "d03", `{"index":[["default","other",{}]]}`)
		b.put(t, "d07", "")
		b.purge(t, "d11")
		b.put(t, "d15", `{"fail":"no"}`)
		b.put(t, "d19", `{"fatal":"worse"}`)
		want(t, "after changes", b.ask(t, c, "w3"), "5 d23 d27 d31 d35 d39")
		want(t, "another", b.ask(t, c, "other"), "1 d03")
		b.restart()
		want(t, "after a restart", b.ask(t, c, "w3", "-n"), "5 d39 d35 d31 d27 d23")
		var errs []string
		must(t, b.indexes.Errors(context.Background(), b.db, c, "", func(e Error) error {
			errs = append(errs, e.ID+" "+e.Message)
			return nil
		}))
		want(t, "errors", strings.Join(errs, ", "), "d15 no, d19 worse")
		info, err := b.indexes.Info(context.Background(), b.db, c)
		must(t, err)
		want(t, "documents", info.Docs, int64(36))
		want(t, "errors in info", info.Errors, int64(2))
		_, err = b.try(b.lookup(t, segment.Clouseau, "broken"), "x")
		var e *compat.Error
		if !errors.As(err, &e) || e.Kind != compat.KindCompilationError {
			t.Errorf("a function that does not compile: %v", err)
		}
		b.put(t, "_design/d", "")
		must(t, b.indexes.Cleanup(context.Background(), b.db))
	})
}
