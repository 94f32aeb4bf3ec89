package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/search/index"
	search_query "github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/pebblekv"
)

// settee is an index of a database in a store of its own.
type settee struct {
	engine  *pebblekv.Store
	store   *storage.Store
	db      *storage.DB
	indexes *search.Indexes
	def     *search.Definition
}

// function is the index function: the text of a document in a field.
type function struct{}

func (function) CheckMap(context.Context, string, string) error { return nil }

func (function) Map(
	_ context.Context, _ *js.MapProgram, docs [][]byte,
) (all []js.DocResult, err error) {
	for _, text := range docs {
		var doc struct{ T json.RawMessage }
		if err := json.Unmarshal(text, &doc); err != nil {
			return nil, err
		}
		var rows []js.Emitted
		if doc.T != nil {
			rows = []js.Emitted{{Key: fmt.Appendf(nil, `["text","t",%s]`, doc.T),
				Value: []byte("{}")}}
		}
		all = append(all, js.DocResult{{Rows: rows}})
	}
	return all, nil
}

// newSettee opens a store and a search index in this process, without HTTP, as Bleve is used.
func newSettee(ctx context.Context, dir string) (*settee, error) {
	engine, err := pebblekv.Open(dir, pebblekv.Options{})
	if err != nil {
		return nil, err
	}
	store, err := storage.Open(ctx, storage.Options{KV: engine, Manual: true})
	if err != nil {
		return nil, err
	}
	s := &settee{engine: engine, store: store}
	s.indexes = search.New(search.Options{Store: store, KV: engine, JS: function{}})
	store.SetHooks(storage.Hooks{Indexer: s.indexes})
	s.db = store.DB("db")
	err = store.Create(ctx, "db", storage.CreateOptions{})
	if errors.Is(err, compat.KindFileExists) {
		err = nil
	}
	return s, err
}

// built finds the index of an earlier run, and brings it to the end of the database.
func (s *settee) built(ctx context.Context) (bool, error) {
	var err error
	s.def, err = s.indexes.Lookup(ctx, s.db, segment.Nouveau, "_design/d", "t")
	if errors.Is(err, compat.KindNotFound) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return true, s.indexes.Update(ctx, s.db, s.def)
}

// put stores documents by id; a document that is refused is an error.
func (s *settee) put(ctx context.Context, bodies map[string]string) error {
	var docs []*compat.Document
	for id, body := range bodies {
		doc := &compat.Document{ID: id, HasID: true}
		var err error
		if doc.Body, err = compat.NewBody([]byte(body)); err != nil {
			return err
		}
		docs = append(docs, doc)
	}
	results, err := s.db.Update(ctx, docs, storage.UpdateOptions{})
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

// build stores all documents, and then measures the build of the index.
func (s *settee) build(ctx context.Context, docs int, next func() string) (time.Duration, error) {
	const together = 1000
	for from := 0; from < docs; from += together {
		bodies := map[string]string{}
		for i := from; i < min(from+together, docs); i++ {
			bodies[fmt.Sprintf("d%09d", i)] = fmt.Sprintf(`{"t":%q}`, next())
		}
		if err := s.put(ctx, bodies); err != nil {
			return 0, err
		}
	}
	design := `{"nouveau":{"t":{"index":"f","default_analyzer":"standard"}}}`
	if err := s.put(ctx, map[string]string{"_design/d": design}); err != nil {
		return 0, err
	}
	var err error
	if s.def, err = s.indexes.Lookup(ctx, s.db, segment.Nouveau, "_design/d", "t"); err != nil {
		return 0, err
	}
	began := time.Now()
	err = s.indexes.Update(ctx, s.db, s.def)
	return time.Since(began), err
}

// ask runs a query in the syntax of Lucene and returns the number of documents that match.
func (s *settee) ask(ctx context.Context, q query) (total int64, err error) {
	text := strings.Join(q.words, " "+strings.ToUpper(q.kind)+" ")
	switch q.kind {
	case "phrase":
		text = `"` + strings.Join(q.words, " ") + `"`
	case "prefix":
		text = q.words[0] + "*"
	}
	err = s.indexes.Search(ctx, s.db, s.def, func(ctx context.Context, x *search.Searcher) error {
		n, err := x.Parse(text, "", search_query.Options{DefaultField: "t"})
		if err != nil {
			return err
		}
		result, err := x.Index.Search(ctx, &index.Request{Query: n, Limit: 10})
		if err == nil {
			total = result.Total
		}
		return err
	})
	return total, err
}

// bytes is what is told of the index: the documents are in the same store.
func (s *settee) bytes() (int64, error) {
	info, err := s.indexes.Info(context.Background(), s.db, s.def)
	if err != nil {
		return 0, err
	}
	return info.Bytes, nil
}

func (s *settee) close() error {
	s.indexes.Close()
	return errors.Join(s.store.Close(), s.engine.Close())
}
