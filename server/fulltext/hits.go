package fulltext

import (
	"context"
	"errors"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
	engine "github.com/settee-db/settee/search"
	"github.com/settee-db/settee/search/index"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
)

// errTime is the error of a query that takes longer than search/timeout.
var errTime = compat.NewError(compat.KindTimeout, "The query took longer than [search] timeout allows.")

// searching calls ask with an index in a snapshot. Its context ends when the time is over that the
// settings give to a query; what is sent to the client takes as long as it takes.
func (h *Handlers) searching(
	c *call.Call, def *engine.Definition, ask func(ctx context.Context, s *engine.Searcher) error,
) error {
	return h.indexes.Search(c.Context(), c.DB, def, func(ctx context.Context, s *engine.Searcher) error {
		ctx, cancel := queryTime(ctx, c)
		defer cancel()
		return ask(ctx, s)
	})
}

// queryTime gives a query the time that the settings allow.
func queryTime(ctx context.Context, c *call.Call) (context.Context, context.CancelFunc) {
	// Read anew for each query, so that a change of the setting needs no restart. 0 is no limit.
	limit := c.Env.Config.Int("search", "timeout", 0)
	if limit <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, time.Duration(limit)*time.Millisecond, errTime)
}

// lookup finds the index that the path names. def is set even where the index is missing, if the
// design document exists: a missing index is reported only after all other errors of the request.
func (h *Handlers) lookup(c *call.Call, kind segment.Kind) (def *engine.Definition, missing, err error) {
	def, err = h.indexes.Lookup(c.Context(), c.DB, kind, c.DocID(), c.Segment(4))
	if def != nil {
		return def, err, c.Docs.CheckQuery(c.Context())
	}
	return nil, nil, err
}

// eachDocument calls fn with the document of each hit, nil for one that is gone. They are those of
// the snapshot of the search, as long as it can be read.
func eachDocument(
	c *call.Call, s *storage.Snapshot, hits []index.Hit, fn func(i int, d *docread.Document) error,
) error {
	refs := make([]docread.DocRef, len(hits))
	for i := range hits {
		refs[i].ID = hits[i].ID
	}
	done := 0
	var failed error
	read := func(s *storage.Snapshot) error {
		first := done
		return s.OpenEach(refs[first:], func(i int, d *docread.Document) error {
			if d != nil && d.Deleted {
				d = nil
			}
			if failed = fn(first+i, d); failed == nil {
				done = first + i + 1
			}
			return failed
		})
	}
	err := read(s)
	if failed == nil && errors.Is(err, kv.ErrTooOld) {
		err = c.DB.ViewAgain(c.Context(), read)
	}
	return err
}

// appendDocument appends a document of a hit.
func appendDocument(c *call.Call, b []byte, d *docread.Document, send func([]byte) ([]byte, error)) ([]byte, error) {
	if d == nil {
		return append(b, "null"...), nil
	}
	if err := c.Docs.Show(c.Context(), d); err != nil {
		return nil, err
	}
	return c.Docs.View(d, &documents.ReadOptions{}).Append(c.Context(), b, nil, send)
}

// stored are the values of a field.
func stored(all []segment.Stored, name string) (values []segment.Stored) {
	for _, v := range all {
		if v.Name == name {
			values = append(values, v)
		}
	}
	return values
}

// names are the names of stored values, in the order of the first of each.
func names(all []segment.Stored) (list []string) {
	seen := map[string]bool{}
	for _, v := range all {
		if !seen[v.Name] {
			seen[v.Name] = true
			list = append(list, v.Name)
		}
	}
	return list
}
