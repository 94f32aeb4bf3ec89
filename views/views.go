package views

import "github.com/settee-db/settee/storage"

// Options configure Open.
type Options struct {
	Store *storage.Store
	// JS runs JavaScript; nil: design documents in JavaScript fail as CouchDB's unknown languages do.
	JS JavaScript
	// Languages are those besides JavaScript, by the `language` of design documents. Indexes of the language "query" are always
	// interactive.
	Languages map[string]Language

	// MaxKey and MaxValue are bytes of an emitted key and value as JSON, MaxKeys those of all keys of a document. A document
	// beyond has no rows and an entry in the index's errors. 0 is no limit, unless the store has one for keys and values: then
	// it is 8 KB, 64 KB and 64 KB.
	MaxKey, MaxValue, MaxKeys int
	// SmallUpdate is how many changes a query indexes itself; for more a job does it. 0 means 200.
	SmallUpdate int
	// Workers is how many batches are mapped at the same time; 0 means one for each processor.
	Workers int
}

// Views are the indexes of all databases of a store. It is safe for concurrent use; several Views, in several processes, may
// work on one store.
type Views struct {
	opts Options
}
