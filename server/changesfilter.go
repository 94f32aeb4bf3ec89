package server

import (
	"context"
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/storage"
)

// feedFilter is what a filter makes of a feed: how it is scanned, the fields that are shown of documents, nil for all, and the function
// that is asked, if any.
type feedFilter struct {
	scan     scanFunc
	fields   *mango.Fields
	function *functionFilter
}

// changesFilter chooses how the feed is scanned.
func (c *Call) changesFilter(o *compat.ChangesOptions, body ejson.Value) (feedFilter, error) {
	filter, err := o.ParseFilter(c.query, c.set.plusIsSpace)
	if err != nil {
		return feedFilter{}, err
	}
	switch {
	case filter.Builtin == "_doc_ids":
		if c.method == http.MethodPost && body.Kind() == ejson.Invalid {
			return feedFilter{}, compat.ErrInvalidJSON // a POST without a body; the query is not looked at
		}
		ids, err := compat.FilterDocIDs(c.query, body)
		if err != nil {
			return feedFilter{}, err
		}
		return feedFilter{scan: c.scanIDs(o, ids)}, nil
	case filter.Builtin == "_design":
		return feedFilter{scan: c.scan(o, c.db.ChangesDesign)}, nil
	case filter.Builtin == "_selector":
		f, fields, err := c.selectorFilter(o, body)
		if err != nil {
			return feedFilter{}, err
		}
		return feedFilter{scan: c.scanPassing(f.options, f.passes), fields: fields}, nil
	case filter.Function != "":
		f, err := c.functionFilter(o, filter, body)
		if err != nil {
			return feedFilter{}, err
		}
		return feedFilter{scan: f.scan, function: f}, nil
	}
	return feedFilter{scan: c.scan(o, c.db.Changes)}, nil
}

func (c *Call) storageOptions(o *compat.ChangesOptions, since storage.Seq, limit int64) storage.ChangesOptions {
	return storage.ChangesOptions{
		Since: since, Limit: limit, Descending: o.Descending, AllLeaves: o.Style == compat.StyleAllDocs,
		IncludeDocs: o.IncludeDocs, Conflicts: o.Conflicts,
	}
}

// changesSource is one of storage's scans of the feed.
type changesSource func(context.Context, storage.ChangesOptions, func(*storage.Change) error) (storage.ChangesEnd, error)

// scan is a scan without a filter of ours.
func (c *Call) scan(o *compat.ChangesOptions, source changesSource) scanFunc {
	return func(since storage.Seq, limit int64, row func(*storage.Change) error) (storage.ChangesEnd, error) {
		return source(c.Context(), c.storageOptions(o, since, limit), row)
	}
}

// scanIDs looks the documents up where they are few, else scans the feed for them.
func (c *Call) scanIDs(o *compat.ChangesOptions, ids []string) scanFunc {
	if int64(len(ids)) <= c.set.maxLookedUpIDs {
		return func(since storage.Seq, limit int64, row func(*storage.Change) error) (storage.ChangesEnd, error) {
			return c.db.ChangesByID(c.Context(), ids, c.storageOptions(o, since, limit), row)
		}
	}
	wanted := make(map[string]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	options := func(since storage.Seq, limit int64) storage.ChangesOptions { return c.storageOptions(o, since, limit) }
	return c.scanPassing(options, func(ch *storage.Change) (bool, error) { return wanted[ch.ID], nil })
}

// scanPassing scans the whole feed for rows that pass.
func (c *Call) scanPassing(options func(since storage.Seq, limit int64) storage.ChangesOptions, passes func(*storage.Change) (bool, error)) scanFunc {
	return func(since storage.Seq, limit int64, row func(*storage.Change) error) (storage.ChangesEnd, error) {
		opts := options(since, -1)
		if limit == 0 {
			opts.Limit = 0
		}
		return c.db.Changes(c.Context(), opts, func(ch *storage.Change) error {
			if ok, err := passes(ch); !ok || err != nil {
				return err
			}
			if err := row(ch); err != nil {
				return err
			}
			if limit--; limit == 0 {
				return storage.ErrStop
			}
			return nil
		})
	}
}
