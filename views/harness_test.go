package views

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/pebblekv"
)

// tester is what a test and a property test have in common.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// emitter is a language of tests: a document lists in `emit` what it emits, as [key, value]; `fail` is what its map throws. The map
// function is a text, so that there are different ones.
type emitter struct{}

func (emitter) Compile(def Definition) (Mapper, error) {
	if string(def.Map) == `"broken"` {
		return nil, compat.Named(compat.KindNotFound, "broken", "map")
	}
	return emitter{}, nil
}

func (emitter) Map(doc *storage.Document, emit func(key, value []byte)) error {
	body, err := ejson.Parse(doc.Body)
	if err != nil {
		return err
	}
	if fail, ok := body.Get("fail"); ok {
		return errors.New(fail.Text())
	}
	rows, _ := body.Get("emit")
	for row := range rows.Elements() {
		var pair [][]byte
		for part := range row.Elements() {
			pair = append(pair, part.Raw())
		}
		emit(pair[0], pair[1])
	}
	return nil
}

// bench is a store with indexes.
type bench struct {
	store *storage.Store
	views *Views
	db    *storage.DB
}

func newBench(t testing.TB, engine kv.Store, o storage.CreateOptions) *bench {
	s, err := storage.Open(context.Background(), storage.Options{KV: engine, Manual: true})
	must(t, err)
	v, err := Open(Options{Store: s, KV: engine, Languages: map[string]Language{"emitter": emitter{}, languageQuery: emitter{}}})
	must(t, err)
	s.SetHooks(storage.Hooks{Indexer: v})
	must(t, s.Create(context.Background(), "db", o))
	t.Cleanup(func() {
		must(t, v.Close())
		must(t, s.Close())
		must(t, engine.Close())
	})
	return &bench{s, v, s.DB("db")}
}

// onEngines runs a test on every kind of store.
func onEngines(t *testing.T, test func(t *testing.T, b *bench)) {
	faults := faultkv.Rates{Conflict: 0.2, UnknownAborted: 0.1, UnknownCommitted: 0.1, TooOld: 0.05}
	for name, open := range map[string]func() kv.Store{
		"memory": func() kv.Store {
			return kv.Checked(memkv.New(), func(violation string) { t.Error(violation) })
		},
		"faults": func() kv.Store { return faultkv.New(memkv.New(), faultkv.Random(1, faults)) },
		"limits": func() kv.Store { return kv.WithLimits(memkv.New(), kv.FDBLimits, time.Now) },
		"pebble": func() kv.Store {
			store, err := pebblekv.Open(t.TempDir(), pebblekv.Options{})
			must(t, err)
			return store
		},
	} {
		t.Run(name, func(t *testing.T) { test(t, newBench(t, open(), storage.CreateOptions{})) })
	}
}

// newDoc makes a document; the parent's revision is empty for a new one.
func newDoc(t tester, id, parent, body string) *compat.Document {
	t.Helper()
	v, err := ejson.Parse([]byte(body))
	must(t, err)
	size, err := v.EncodedSize()
	must(t, err)
	d := &compat.Document{ID: id, Body: compat.Body{JSON: v.AppendJSON(nil), Term: v.AppendTerm(nil), Size: size}}
	if parent != "" {
		rev, err := compat.ParseRev(parent)
		must(t, err)
		d.Revs = compat.RevPath{Start: rev.Pos, IDs: []string{rev.Hash}}
	}
	return d
}

// put writes a document over whatever there is of that id; an empty body deletes it.
func (b *bench) put(t tester, id, body string) {
	t.Helper()
	ctx := context.Background()
	for {
		parent := ""
		if old, err := b.db.Open(ctx, id, storage.OpenOptions{}); err == nil {
			parent = old.Rev.String()
		} else if body == "" {
			return
		}
		d := newDoc(t, id, parent, orEmpty(body))
		d.Deleted = body == ""
		results, err := b.db.Update(ctx, []*compat.Document{d}, storage.UpdateOptions{})
		must(t, err)
		if results[0].Err == nil {
			return
		}
	}
}

func orEmpty(body string) string {
	if body == "" {
		return "{}"
	}
	return body
}

// collected is a sink that keeps the answer as text.
type collected struct {
	head Head
	rows []string
}

func (c *collected) Head(h *Head) error {
	c.head = *h
	return nil
}

func (c *collected) Rows(_ *storage.Snapshot, rows []Row) error {
	for _, r := range rows {
		switch {
		case r.Err != nil:
			c.rows = append(c.rows, r.Err.Error())
		case r.ID == nil:
			c.rows = append(c.rows, fmt.Sprintf("%s=%s", r.Key, r.Value))
		default:
			c.rows = append(c.rows, fmt.Sprintf("%s %s=%s", r.ID, r.Key, r.Value))
		}
	}
	return nil
}

// query asks a view; options are as in a URL.
func (b *bench) query(t tester, ddoc, view, options string) *collected {
	t.Helper()
	c := &collected{}
	must(t, b.tryQuery(ddoc, view, options, c))
	return c
}

func (b *bench) tryQuery(ddoc, view, options string, sink Sink) error {
	ctx := context.Background()
	w, err := b.views.View(ctx, b.db, "_design/"+ddoc, view)
	if err != nil {
		return err
	}
	o, err := compat.ParseViewOptions(compat.ParseQuery(options), ejson.Value{})
	if err != nil {
		return err
	}
	if err := o.CheckView(w.Type(o), compat.ViewLimits{Partitioned: w.Partitioned()}); err != nil {
		return err
	}
	return w.Query(ctx, o, sink)
}

func want(t tester, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

func designBody(language string, views string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"language":%q,"views":%s}`, language, views)
	return b.String()
}
