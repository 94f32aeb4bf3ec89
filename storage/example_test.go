package storage_test

import (
	"context"
	"fmt"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// A store in memory, a database in it, a document that is written and read.
func Example() {
	if err := writeAndRead(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1-77148b466239bea3be1fc865d7a4e3e3
	// {"colour":"green"}
	// documents: 1
}

func writeAndRead(ctx context.Context) error {
	engine := memkv.New() // with pebblekv.Open the store is a directory
	defer engine.Close()
	store, err := storage.Open(ctx, storage.Options{KV: engine})
	if err != nil {
		return err
	}
	defer store.Close()
	if err := store.Create(ctx, "sofas", storage.CreateOptions{}); err != nil {
		return err
	}
	db := store.DB("sofas")

	json, err := ejson.Parse([]byte(`{"_id":"chesterfield","colour":"green"}`))
	if err != nil {
		return err
	}
	doc, err := compat.ParseDocument(json, compat.DocRules{})
	if err != nil {
		return err
	}
	results, err := db.Update(ctx, []*compat.Document{doc}, storage.UpdateOptions{})
	if err != nil {
		return err
	}
	if refused := results[0].Err; refused != nil { // a conflict, say
		return refused
	}
	fmt.Println(results[0].Rev)

	read, err := db.Open(ctx, "chesterfield", docread.OpenOptions{})
	if err != nil {
		return err
	}
	fmt.Printf("%s\n", read.Body)
	info, err := db.Info(ctx)
	if err != nil {
		return err
	}
	fmt.Println("documents:", info.DocCount)
	return nil
}
