package find

import (
	"cmp"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/lastuse"
	"github.com/settee-db/settee/views"
)

// Handlers serve Mango queries and their indexes.
type Handlers struct {
	o         Options
	catalogue mango.Catalogue
	scans     *scans
}

// Options are the indexes that queries go by.
type Options struct {
	Views     *views.Views
	AllFields *allfields.Indexes // nil without
	Search    *search.Indexes    // nil without
	Uses      *lastuse.Uses      // nil without
}

// New makes the handlers.
func New(o Options) *Handlers { return &Handlers{o: o, scans: newScans()} }

// ForgetParsed empties the cache of indexes, which are then read again. It may be called at any
// time.
func (h *Handlers) ForgetParsed() { h.catalogue.Forget() }

// indexes lists the indexes of the database, that of all documents first, and reports whether it is
// partitioned. Those who see only some of the documents have those of a slice.
func (h *Handlers) indexes(c *call.Call) ([]*mango.Index, bool, error) {
	who, err := slice(c)
	if err != nil {
		return nil, false, err
	}
	if who != nil {
		return h.catalogue.OfSlice(c.Context(), c.DB, *who)
	}
	return h.catalogue.Indexes(c.Context(), c.DB)
}

// slice is who sees only some of the documents; nil: everything is seen.
func slice(c *call.Call) (*access.Principals, error) {
	some, err := c.Docs.Access().SeesSome(c.Context())
	if err != nil || !some {
		return nil, err
	}
	who, err := c.Docs.Access().Who(c.Context())
	return &who, err
}

// planned are the indexes that a query may use. What is computed is of one snapshot, which indexes
// of a slice do not have.
func (h *Handlers) planned(c *call.Call, computes bool) ([]*mango.Index, bool, error) {
	list, partitioned, err := h.indexes(c)
	who, sliceErr := slice(c)
	if err = cmp.Or(err, sliceErr); err == nil && (who == nil || computes) {
		list = mango.OfAll(list)
	}
	return list, partitioned, err
}

// openDesign reads a design document whose views are to be changed; exists is false for a missing
// or deleted one. The value belongs to the caller.
func openDesign(c *call.Call, id string) (d *docread.Document, body ejson.Value, exists bool, err error) {
	d, err = c.DB.Open(c.Context(), id, docread.OpenOptions{})
	if e, ok := compat.AsError(err); ok && e.Kind == compat.KindNotFound {
		return nil, body, false, nil
	}
	if err != nil {
		return nil, body, false, err
	}
	body, err = ejson.Parse(d.Body)
	return d, body, true, err
}

// writeDesign stores a design document; d is the revision it replaces, nil for a new one. refused
// is what the document was refused for.
func writeDesign(
	c *call.Call,
	id string,
	d *docread.Document,
	body []byte,
	deleted bool,
) (refused *compat.Error, err error) {
	edit := &compat.Document{ID: id, HasID: true}
	if d != nil {
		if edit, err = documents.EditOf(d); err != nil {
			return nil, err
		}
	}
	if edit.Body, err = compat.NewBody(body); err != nil {
		return nil, err
	}
	edit.Deleted = deleted
	results, err := c.Docs.Update(c.Context(), []*compat.Document{edit}, documents.WriteOptions{})
	if e, ok := compat.AsError(err); ok && e.Kind != compat.KindNoDatabase {
		return e, nil
	}
	if err != nil {
		return nil, err
	}
	return results[0].Err, nil
}
