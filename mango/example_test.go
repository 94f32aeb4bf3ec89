package mango_test

import (
	"context"
	"fmt"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/views"
)

// An index is a design document; a query chooses among the indexes of the database and reads one.
func Example() {
	if err := indexAndFind(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// reads the index by_seats
	// {"_id":"settee","seats":2}
	// {"_id":"chesterfield","seats":3}
}

func indexAndFind(ctx context.Context) error {
	engine := memkv.New()
	defer engine.Close()
	store, err := storage.Open(ctx, storage.Options{KV: engine})
	if err != nil {
		return err
	}
	defer store.Close()
	indexes, err := views.Open(views.Options{
		Store: store, KV: engine, Languages: map[string]views.Language{mango.Language: mango.Views{}},
	})
	if err != nil {
		return err
	}
	defer indexes.Close()
	store.SetHooks(storage.Hooks{Indexer: indexes})
	if err := store.Create(ctx, "sofas", storage.CreateOptions{}); err != nil {
		return err
	}
	db := store.DB("sofas")

	definition, err := parsed(
		`{"index":{"fields":["seats"]},"name":"by_seats","ddoc":"sofas"}`,
		func(v ejson.Value) (*mango.Definition, error) { return mango.ParseDefinition(v, false) },
	)
	if err != nil {
		return err
	}
	design, err := definition.AddTo(ejson.Value{}, false)
	if err != nil {
		return err
	}
	for id, body := range map[string]string{
		definition.DDoc: string(design),
		"chesterfield":  `{"seats":3}`,
		"settee":        `{"seats":2}`,
		"armchair":      `{"seats":1}`,
	} {
		if err := writeDocument(ctx, db, id, body); err != nil {
			return err
		}
	}

	request, err := parsed(
		`{"selector":{"seats":{"$gt":1}},"fields":["_id","seats"]}`,
		func(v ejson.Value) (*mango.Request, error) { return mango.ParseRequest(v, mango.Defaults{Limit: 25}) },
	)
	if err != nil {
		return err
	}
	catalogue := mango.Catalogue{}
	list, partitioned, err := catalogue.Indexes(ctx, db)
	if err != nil {
		return err
	}
	plan, err := mango.NewPlan(request, list, partitioned, false)
	if err != nil {
		return err
	}
	fmt.Println("reads the index", plan.Index().Name)
	_, err = plan.Find(ctx, &mango.Source{DB: db, Views: indexes}, func(doc []byte) error {
		fmt.Printf("%s\n", doc)
		return nil
	})
	return err
}

// parsed is what a parser makes of a JSON text.
func parsed[T any](text string, parse func(ejson.Value) (T, error)) (T, error) {
	v, err := ejson.Parse([]byte(text))
	if err != nil {
		return *new(T), err
	}
	return parse(v)
}

// writeDocument stores a new document.
func writeDocument(ctx context.Context, db *storage.DB, id, text string) error {
	doc, err := parsed(text, func(v ejson.Value) (*compat.Document, error) {
		return compat.ParseDocument(v, compat.DocRules{})
	})
	if err != nil {
		return err
	}
	doc.ID = id
	results, err := db.Update(ctx, []*compat.Document{doc}, storage.UpdateOptions{})
	if err == nil && results[0].Err != nil {
		return results[0].Err
	}
	return err
}
