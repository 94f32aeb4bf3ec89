package mango

import (
	"context"
	"crypto/sha256"
	"sync"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
)

// Catalogue lists the indexes of databases, and keeps them parsed. What it keeps counts as long as
// the design documents have the same revisions: that is looked up for each query, so that a new
// index is seen at once, on every server of a store. The zero value is empty; it is safe for
// concurrent use.
type Catalogue struct {
	mu      sync.Mutex
	entries map[string]*indexList
}

// maxCachedLists bounds the memory of a Catalogue; when it is full it begins anew.
const maxCachedLists = 1000

// indexList is the indexes of one database.
type indexList struct {
	designs     [sha256.Size]byte // of the database's identity and the stamp of its design documents
	partitioned bool
	indexes     []*Index
}

func (c *Catalogue) get(db string, designs [sha256.Size]byte) *indexList {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[db]; e != nil && e.designs == designs {
		return e
	}
	return nil
}

func (c *Catalogue) put(db string, e *indexList) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil || len(c.entries) >= maxCachedLists {
		c.entries = make(map[string]*indexList)
	}
	c.entries[db] = e
}

// Forget empties the catalogue; lists are read again then.
func (c *Catalogue) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = nil
}

// Indexes lists the indexes of a database, that of all documents first, and reports whether it is
// partitioned.
func (c *Catalogue) Indexes(ctx context.Context, db *storage.DB) (list []*Index, partitioned bool, err error) {
	designs, partitioned, err := designRevisions(ctx, db)
	if err != nil {
		return nil, false, err
	}
	e := c.get(db.Name(), designs)
	if e == nil {
		e = &indexList{designs: designs, partitioned: partitioned}
		if e.indexes, err = readIndexes(ctx, db, partitioned); err != nil {
			return nil, false, err
		}
		c.put(db.Name(), e)
	}
	return e.indexes, e.partitioned, nil
}

// designRevisions is a hash of all that the list of indexes depends on.
func designRevisions(ctx context.Context, db *storage.DB) (sum [sha256.Size]byte, partitioned bool, err error) {
	err = db.View(ctx, func(s *storage.Snapshot) error {
		uuid := s.UUID()
		text, err := s.AppendDesignStamp(uuid[:])
		sum, partitioned = sha256.Sum256(text), s.Partitioned()
		return err
	})
	return sum, partitioned, err
}

// readIndexes reads all design documents of a database and returns the indexes that they define,
// _all_docs among them, in CouchDB's order (mango_idx:list/1).
func readIndexes(ctx context.Context, db *storage.DB, partitioned bool) ([]*Index, error) {
	list := []*Index{AllDocs}
	p := ejson.AcquireParser()
	defer p.Release()
	designs := storage.RangeOptions{Namespace: storage.NamespaceDesign, Limit: -1, IncludeDocs: true}
	noHeader := func(storage.ListHeader) error { return nil }
	err := db.AllDocs(ctx, designs, noHeader, func(r *storage.ListRow) error {
		body, err := p.Parse(r.Doc.Body)
		if err != nil {
			return err
		}
		list = append(list, IndexesOf(r.ID, body, partitioned)...)
		return nil
	})
	SortIndexes(list)
	return list, err
}
