package views_test

import (
	"context"
	"fmt"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/views"
	"github.com/settee-db/settee/views/viewquery"
)

// A view in a design document, and a query of it, which builds the index first.
func Example() {
	if err := defineAndQuery(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// "green": 2
	// "red": 1
}

func defineAndQuery(ctx context.Context) error {
	engine := memkv.New()
	defer engine.Close()
	store, err := storage.Open(ctx, storage.Options{KV: engine})
	if err != nil {
		return err
	}
	defer store.Close()
	pool := js.NewPool(js.Options{}) // main has to call js.RunWorkerIfAsked
	defer pool.Close()
	indexes, err := views.Open(views.Options{Store: store, KV: engine, JS: pool})
	if err != nil {
		return err
	}
	defer indexes.Close()
	store.SetHooks(storage.Hooks{Indexer: indexes})

	if err := store.Create(ctx, "sofas", storage.CreateOptions{}); err != nil {
		return err
	}
	db := store.DB("sofas")
	if err := write(ctx, db,
		`{"_id":"chesterfield","colour":"green"}`,
		`{"_id":"camelback","colour":"red"}`,
		`{"_id":"settee","colour":"green"}`,
		`{"_id":"_design/sofas","views":{"colours":{
			"map":"function (doc) { emit(doc.colour, null) }","reduce":"_count"}}}`,
	); err != nil {
		return err
	}
	return indexes.Query(ctx, db, "_design/sofas", "colours", func(*views.View) (*viewquery.Query, views.Sink, error) {
		return &viewquery.Query{Reduce: true, GroupLevel: viewquery.GroupExact, Limit: 10}, printer{}, nil
	})
}

// printer takes the rows of an answer as they are read.
type printer struct{}

func (printer) Head(*views.Head) error { return nil }

func (printer) Rows(_ *storage.Snapshot, rows []views.Row) (int, error) {
	for _, row := range rows {
		fmt.Printf("%s: %s\n", row.Key, row.Value)
	}
	return len(rows), nil
}

// write stores new documents.
func write(ctx context.Context, db *storage.DB, texts ...string) error {
	var docs []*compat.Document
	for _, text := range texts {
		json, err := ejson.Parse([]byte(text))
		if err != nil {
			return err
		}
		doc, err := compat.ParseDocument(json, compat.DocRules{})
		if err != nil {
			return err
		}
		docs = append(docs, doc)
	}
	results, err := db.Update(ctx, docs, storage.UpdateOptions{})
	if err != nil {
		return err
	}
	for _, result := range results {
		if result.Err != nil {
			return result.Err
		}
	}
	return nil
}
