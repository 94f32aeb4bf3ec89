package views

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/storagetest"
	"github.com/settee-db/settee/views/viewquery"
)

// The words of the kit.
var (
	must   = storagetest.Must
	want   = storagetest.Want
	newDoc = storagetest.Doc
)

type tester = storagetest.T

// emitter is a language of tests: a document lists in `emit` what it emits, as [key, value]; `fail`
// is what its map throws. The map function is a text, so that there are different ones.
type emitter struct{}

func (emitter) Compile(def Definition) (Mapper, error) {
	if string(def.Map) == `"broken"` {
		return nil, compat.Named(compat.KindNotFound, "broken", "map")
	}
	return emitter{}, nil
}

func (emitter) Map(doc *docread.Document, emit func(key, value []byte)) error {
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
	v, err := Open(
		Options{Store: s, KV: engine, Languages: map[string]Language{"emitter": emitter{}, languageQuery: emitter{}}},
	)
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

// onEngines runs a test on every kind of store, at the same time; it returns when all are done.
func onEngines(t *testing.T, test func(t *testing.T, b *bench)) {
	storagetest.OnEngines(t, func(t *testing.T, engine kv.Store) {
		engine = kvtest.Checked(engine, func(violation string) { t.Error(violation) })
		test(t, newBench(t, engine, storage.CreateOptions{}))
	})
}

// put writes a document over whatever there is of that id; an empty body deletes it.
func (b *bench) put(t tester, id, body string) {
	t.Helper()
	ctx := context.Background()
	for {
		parent := ""
		if old, err := b.db.Open(ctx, id, docread.OpenOptions{}); err == nil {
			parent = old.Rev.String()
		} else if body == "" {
			return
		}
		d := newDoc(t, id, parent, body)
		results, err := b.db.Update(ctx, []*compat.Document{d}, storage.UpdateOptions{})
		must(t, err)
		if results[0].Err == nil {
			return
		}
	}
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

func (c *collected) Rows(_ *storage.Snapshot, rows []Row) (int, error) {
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
	return len(rows), nil
}

// query asks a view; options are as in a URL.
func (b *bench) query(t tester, ddoc, view, options string) *collected {
	t.Helper()
	c := &collected{}
	must(t, b.tryQuery(ddoc, view, options, c))
	return c
}

func (b *bench) tryQuery(ddoc, view, options string, sink Sink) error {
	ask := func(*View) (*viewquery.Query, Sink, error) {
		q, err := readQuery(options)
		return q, sink, err
	}
	return b.views.Query(context.Background(), b.db, "_design/"+ddoc, view, ask)
}

// readQuery is a query written with the names that options have in a URL.
func readQuery(options string) (*viewquery.Query, error) {
	params, err := url.ParseQuery(options)
	if err != nil {
		return nil, err
	}
	q := &viewquery.Query{Reduce: true, Limit: math.MaxInt64}
	for name := range params {
		if err := readOption(q, name, params.Get(name)); err != nil {
			return nil, fmt.Errorf("%s=%s: %w", name, params.Get(name), err)
		}
	}
	return q, nil
}

func readOption(q *viewquery.Query, name, value string) (err error) {
	yes := value == "true"
	switch name {
	case "key":
		q.StartKey, err = ejson.Parse([]byte(value))
		q.EndKey = q.StartKey
	case "startkey":
		q.StartKey, err = ejson.Parse([]byte(value))
	case "endkey":
		q.EndKey, err = ejson.Parse([]byte(value))
	case "keys":
		q.Keys, err = ejson.Parse([]byte(value))
	case "stored_keys":
		q.StoredKeys = yes
	case "descending":
		q.Descending = yes
	case "inclusive_end":
		q.ExclusiveEnd = !yes
	case "skip":
		q.Skip, err = strconv.ParseInt(value, 10, 64)
	case "limit":
		q.Limit, err = strconv.ParseInt(value, 10, 64)
	case "reduce":
		q.Reduce = yes
	case "group":
		q.GroupLevel = viewquery.GroupExact
	case "group_level":
		q.GroupLevel, err = strconv.ParseInt(value, 10, 64)
	case "partition":
		q.Partition = value
	case "update_seq":
		q.UpdateSeq = yes
	case "update", "stale":
		q.Update = viewquery.UpdateNever
	default:
		err = errors.New("an option that these tests do not have")
	}
	return err
}

func designBody(language string, views string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"language":%q,"views":%s}`, language, views)
	return b.String()
}
