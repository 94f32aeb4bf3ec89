package mango

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/settee-db/settee/compat/cache"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/access"
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

// OfSlice are the indexes for those who see a slice of a database (storage.DB.As): that of all
// documents, which is the user's lists, and those by principal whose design documents the user sees.
// Others have rows of all documents, so that the slice is as a database without them.
func (c *Catalogue) OfSlice(
	ctx context.Context, db *storage.DB, who access.Principals,
) (list []*Index, partitioned bool, err error) {
	all, partitioned, err := c.Indexes(ctx, db.As(access.Everybody))
	list = []*Index{AllDocs}
	for _, ix := range all {
		if ix.ByPrincipal && ix.forUsers && who.Has(access.Anyone) {
			list = append(list, ix)
		}
	}
	return list, partitioned, err
}

// OfAll are those of a list that queries of all documents may use.
func OfAll(list []*Index) []*Index {
	byPrincipal := func(ix *Index) bool { return ix.ByPrincipal }
	if !slices.ContainsFunc(list, byPrincipal) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), byPrincipal)
}
