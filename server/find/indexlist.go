package find

import (
	"crypto/sha256"
	"sync"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/docs"
	"github.com/settee-db/settee/storage"
)

// indexCache keeps the parsed indexes of databases. An entry counts as long as the design documents have the same
// revisions: that is looked up for each query, so that a new index is seen at once, on every server of a store.
type indexCache struct {
	mu      sync.Mutex
	entries map[string]*indexList
}

// maxCachedLists bounds the memory of the cache; when it is full it begins anew.
const maxCachedLists = 1000

// indexList is the indexes of one database.
type indexList struct {
	designs     [sha256.Size]byte // of the database's identity and the revisions of its design documents
	partitioned bool
	indexes     []*mango.Index
}

// Handlers serve what needs the list of a database's indexes.
type Handlers struct{ indexLists indexCache }

func (l *indexCache) get(db string, designs [sha256.Size]byte) *indexList {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.entries[db]; e != nil && e.designs == designs {
		return e
	}
	return nil
}

func (l *indexCache) put(db string, e *indexList) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entries == nil || len(l.entries) >= maxCachedLists {
		l.entries = make(map[string]*indexList)
	}
	l.entries[db] = e
}

// ForgetParsed empties the cache of indexes, which are then read again. It may be called at any time.
func (h *Handlers) ForgetParsed() {
	h.indexLists.mu.Lock()
	defer h.indexLists.mu.Unlock()
	h.indexLists.entries = nil
}

// indexes lists the indexes of the database, that of all documents first, and reports whether it is partitioned.
func (h *Handlers) indexes(c *call.Call) ([]*mango.Index, bool, error) {
	designs, partitioned, err := designRevisions(c)
	if err != nil {
		return nil, false, err
	}
	cache := &h.indexLists
	list := cache.get(c.DB.Name(), designs)
	if list == nil {
		list = &indexList{designs: designs, partitioned: partitioned}
		if list.indexes, err = readIndexes(c, partitioned); err != nil {
			return nil, false, err
		}
		cache.put(c.DB.Name(), list)
	}
	return list.indexes, list.partitioned, nil
}

// designRevisions is a hash of all that the list of indexes depends on.
func designRevisions(c *call.Call) (sum [sha256.Size]byte, partitioned bool, err error) {
	err = c.DB.View(c.Context(), func(s *storage.Snapshot) error {
		uuid := s.UUID()
		text, err := s.AppendDesignStamp(uuid[:])
		sum, partitioned = sha256.Sum256(text), s.Partitioned()
		return err
	})
	return sum, partitioned, err
}

func readIndexes(c *call.Call, partitioned bool) ([]*mango.Index, error) {
	list := []*mango.Index{mango.AllDocs}
	p := ejson.AcquireParser()
	defer p.Release()
	designs := storage.RangeOptions{Namespace: storage.NamespaceDesign, Limit: -1, IncludeDocs: true}
	noHeader := func(storage.ListHeader) error { return nil }
	err := c.DB.AllDocs(c.Context(), designs, noHeader, func(r *storage.ListRow) error {
		body, err := p.Parse(r.Doc.Body)
		if err != nil {
			return err
		}
		list = append(list, mango.IndexesOf(r.ID, body, partitioned)...)
		return nil
	})
	mango.SortIndexes(list)
	return list, err
}

// openDesign reads a design document whose views are to be changed; exists is false for a missing or deleted one. The
// value belongs to the caller.
func openDesign(c *call.Call, id string) (d *storage.Document, body ejson.Value, exists bool, err error) {
	d, err = c.DB.Open(c.Context(), id, storage.OpenOptions{})
	if e, ok := compat.AsError(err); ok && e.Kind == compat.KindNotFound {
		return nil, body, false, nil
	}
	if err != nil {
		return nil, body, false, err
	}
	body, err = ejson.Parse(d.Body)
	return d, body, true, err
}

// writeDesign stores a design document; d is the revision it replaces, nil for a new one. refused is what the document
// was refused for.
func writeDesign(
	c *call.Call,
	id string,
	d *storage.Document,
	body []byte,
	deleted bool,
) (refused *compat.Error, err error) {
	edit := &compat.Document{ID: id, HasID: true}
	if d != nil {
		if edit, err = docs.EditOf(d); err != nil {
			return nil, err
		}
	}
	if edit.Body, err = compat.NewBody(body); err != nil {
		return nil, err
	}
	edit.Deleted = deleted
	results, err := c.Docs.Update(c.Context(), []*compat.Document{edit}, docs.WriteOptions{})
	if e, ok := compat.AsError(err); ok && e.Kind != compat.KindNoDatabase {
		return e, nil
	}
	if err != nil {
		return nil, err
	}
	return results[0].Err, nil
}
