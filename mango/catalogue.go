package mango

import (
	"context"
	"crypto/sha256"
	"sync"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/cache"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/storage"
)

// Catalogue lists the indexes of databases, and keeps them parsed. What it keeps counts as long as
// the design documents have the same revisions: that is looked up for each query, so that a new
// index is seen at once, on every server of a store. The zero value is empty; it is safe for
// concurrent use.
type Catalogue struct {
	once  sync.Once
	lists *cache.Stamped[string, [sha256.Size]byte, *indexList] // by databases and designRevisions
}

// cachedLists is how many bytes the lists of a Catalogue may take, if one alone does not take more.
const cachedLists = 16 << 20

// indexList is the indexes of one database.
type indexList struct {
	partitioned bool
	indexes     []*Index
	bytes       int64 // of memory, at most
}

func (c *Catalogue) cached() *cache.Stamped[string, [sha256.Size]byte, *indexList] {
	c.once.Do(func() {
		size := func(_ string, l *indexList) int { return int(l.bytes) }
		c.lists = cache.NewStampedSized[string, [sha256.Size]byte](cachedLists, size)
	})
	return c.lists
}

// Forget empties the catalogue; lists are read again then.
func (c *Catalogue) Forget() {
	c.cached().Purge()
}

// Indexes lists the indexes of a database, that of all documents first, and reports whether it is
// partitioned.
func (c *Catalogue) Indexes(ctx context.Context, db *storage.DB) (list []*Index, partitioned bool, err error) {
	designs, partitioned, err := designRevisions(ctx, db)
	if err != nil {
		return nil, false, err
	}
	e, err := c.cached().Load(db.Name(), designs, func() (*indexList, error) {
		return readIndexes(ctx, db, partitioned)
	})
	if err != nil {
		return nil, false, err
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
func readIndexes(ctx context.Context, db *storage.DB, partitioned bool) (*indexList, error) {
	list := &indexList{partitioned: partitioned, indexes: []*Index{AllDocs}, bytes: 1000}
	p := ejson.AcquireParser()
	defer p.Release()
	designs := storage.RangeOptions{Namespace: storage.NamespaceDesign, Limit: -1, IncludeDocs: true}
	err := db.AllDocs(ctx, designs, nil, func(r *storage.ListRow) error {
		if err := storage.HoldParsed(ctx, db, r.Doc.Body); err != nil {
			return err
		}
		body, err := p.Parse(r.Doc.Body)
		if err != nil {
			return err
		}
		if of := IndexesOf(r.ID, body, partitioned); len(of) > 0 {
			list.indexes = append(list.indexes, of...)
			list.bytes += int64(len(r.Doc.Body)) + selector.Size(body)
		}
		return nil
	})
	SortIndexes(list.indexes)
	return list, err
}

// SliceIndexes are the indexes for who sees a slice of a database (storage.DB.As). Those that design
// documents define have rows of all documents, so that the slice is as a database without them.
func SliceIndexes(ctx context.Context, db *storage.DB) (list []*Index, partitioned bool, err error) {
	exists, err := db.Beginning(func(is bool) error { partitioned = is; return nil }).Exists(ctx)
	if err == nil && !exists {
		err = compat.ErrNoDatabase
	}
	return []*Index{AllDocs}, partitioned, err
}
