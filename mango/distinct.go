package mango

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/storage"
)

// Distinct asks for the values of a field; not in CouchDB.
type Distinct struct {
	path     []string
	elements bool
	after    []byte // key of the last value of the page before
	limit    number
}

// ParseDistinct reads the body of POST /db/_distinct, an object: {"field": name, "elements": bool,
// "limit": n, "bookmark": text}.
func ParseDistinct(body ejson.Value, limit int64) (*Distinct, error) {
	d := &Distinct{limit: number{n: limit}}
	m := newMembers(body)
	field, bookmark := "", ""
	if v, ok := m.require("field"); ok {
		field = v.Text()
	}
	m.boolean("elements", &d.elements)
	m.integer("limit", false, &d.limit)
	m.text("bookmark", true, &bookmark)
	if err := m.finish(); err != nil {
		return nil, err
	}
	var ok bool
	if d.path, ok = SplitField(field); !ok {
		return nil, selector.ErrInvalidFieldName(field)
	}
	if bookmark == "" {
		return d, nil
	}
	from, err := parseBookmark(bookmark)
	if err == nil && !slices.Equal(from.origin, d.origin()) {
		err = errBookmark(bookmark)
	}
	if err != nil {
		return nil, err
	}
	d.after = collate.AppendKey(nil, from.key)
	return d, nil
}

// origin is the text by which a bookmark is bound to its request.
func (d *Distinct) origin() []string {
	return append([]string{"distinct", strconv.FormatBool(d.elements)}, d.path...)
}

// errNoDistinct is for a field that no index over all fields has.
var errNoDistinct = compat.Named(compat.KindBadRequest, "no_usable_index",
	"No index of type auto covers this field, or it is still being built.")

// DistinctAnswer is what follows the values.
type DistinctAnswer struct {
	Bookmark string // "" where no values follow
	// NotCounted is the number of documents that have too many values to be indexed.
	NotCounted int64
}

// Find lists the values of the field in their order, from after the bookmark. On a store that
// limits the age of snapshots a long list goes on in a newer one, after the last value.
func (d *Distinct) Find(
	ctx context.Context,
	src *Source,
	value func(json []byte, count int64) error,
) (*DistinctAnswer, error) {
	answer := new(DistinctAnswer)
	if src.AllFields == nil {
		return answer, errNoDistinct
	}
	left := d.limit.n
	after := d.after
	var last []byte
	err := src.DB.ViewAgain(ctx, func(s *storage.Snapshot) error {
		ix, err := d.index(s, src.AllFields)
		if err != nil {
			return err
		}
		if answer.NotCounted, err = ix.Count(nil, false); err != nil {
			return err
		}
		storage.IndexUsed(src.DB, ix.DesignDoc, "auto", ix.Name)
		r := allfields.Range{Path: d.path, Element: d.elements}
		if after != nil {
			r.Start = allfields.AppendAfter(nil, after)
		}
		return ix.Distinct(r, src.Keep, func(v *allfields.Distinct) error {
			if left == 0 {
				if last != nil {
					answer.Bookmark = string(appendBookmark(nil, last, "", d.origin()))
				}
				return storage.ErrStop
			}
			if err := value(v.JSON, v.Count); err != nil {
				return err
			}
			left--
			last, after = append(last[:0], v.JSON...), bytes.Clone(v.Key)
			s.Advance()
			return nil
		})
	})
	return answer, err
}

// index returns the first index over all fields that is ready and has entries for the path;
// errNoDistinct if there is none.
func (d *Distinct) index(s *storage.Snapshot, fields *allfields.Indexes) (*allfields.Index, error) {
	list, err := fields.Open(s)
	if err != nil {
		return nil, err
	}
	for _, ix := range list {
		if ix.Covers(d.path) {
			return ix, nil
		}
	}
	return nil, errNoDistinct
}
