package aggregate

import (
	"bytes"
	"context"
	"errors"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// entriesOf gives the entries of the one field that a request is about, in an index over all
// fields.
type entriesOf struct {
	index *mango.Index
	of    allfields.Range
	lack  bool // documents without the field pass, too
}

// fewEntries is how many different values are read of an index over all fields before their number
// is compared with that of the entries.
const fewEntries = 64

// takeEntries takes the plan by the entries of an index over all fields, if that can answer: all that
// is asked is how many documents have the values of one field.
func (p *Plan) takeEntries(indexes []*mango.Index, wants selector.Conjunction) {
	r := p.r
	field := ""
	switch {
	case r.partition != "" || len(r.groups) > 1 || len(wants.Exists) > 1:
		return
	case len(r.groups) == 1:
		field = r.groups[0].name
	}
	for name := range wants.Exists {
		if field != "" && name != field {
			return
		}
		field = name
	}
	if field == "" {
		return
	}
	// The entries have values of one field, which say how many documents there are and nothing else
	// of them.
	for i := range r.values {
		if r.values[i].op != countOp {
			return
		}
	}
	for _, ix := range indexes {
		path, ok := ix.FieldPath(field)
		if !ok || r.use.Kind() != ejson.Invalid && ix != p.find.Index() {
			continue
		}
		p.kind = entries
		p.entries = &entriesOf{index: ix, of: allfields.Range{Path: path}, lack: len(wants.Exists) == 0}
		if v, equal := wants.Equal[field]; equal {
			key := collate.AppendKey(nil, v)
			p.entries.of.Start, p.entries.of.End = key, allfields.AppendAfter(nil, key)
		}
		return
	}
}

// open opens the index; have is how many documents have the field. The index is nil where it does
// not know: it is not ready, or there are documents that it has nothing of.
func (e *entriesOf) open(s *storage.Snapshot, src *mango.Source) (ix *allfields.Index, have int64, err error) {
	if ix, err = src.ReadyAllFields(s, e.index); ix == nil || err != nil {
		return nil, 0, err
	}
	if others, err := ix.CountOthers(); others > 0 || err != nil {
		return nil, 0, err
	}
	have, err = ix.Count(e.of.Path, false)
	return ix, have, err
}

// estimate is about how many entries are read; known is false where the index does not know.
func (e *entriesOf) estimate(ctx context.Context, src *mango.Source) (n int64, known bool, err error) {
	if src.Shown != nil {
		return 0, false, nil
	}
	err = src.DB.ViewAgain(ctx, func(s *storage.Snapshot) error {
		ix, have, err := e.open(s, src)
		n, known = have, ix != nil
		if !known || err != nil || e.of.Start == nil {
			return err
		}
		some, err := ix.Estimate([]allfields.Range{e.of})
		if err == nil {
			n = min(n, some[0])
		}
		return err
	})
	return n, known, err
}

// runEntries counts the entries of each value; done is false where the index does not know, or where
// so many documents have a value of their own that reading them all costs less: each value is read
// from one document, to learn how it is written.
func (p *Plan) runEntries(
	ctx context.Context, src *mango.Source, a *Answer, row func([]byte) error,
) (done bool, err error) {
	c := &entryCount{entriesOf: p.entries, src: src, t: p.r.newTable(src.Keep)}
	c.row = make([]ejson.Value, len(p.r.fields))
	if c.byKey = len(p.r.groups) > 0 && p.r.byKey(); c.byKey && p.r.after != nil {
		c.after = p.r.after.key.sortable
	}
	c.t.fromEnd = len(p.r.groups) > 0 && p.r.fromEnd()
	if len(p.r.groups) == 0 { // the one group is there without documents, too
		if _, err := c.t.find(c.row); err != nil {
			return false, err
		}
	}
	err = src.DB.ViewAgain(ctx, c.read)
	if errors.Is(err, errUnknown) || errors.Is(err, kv.ErrTooOld) { // too many documents have one value
		return false, nil
	}
	if err != nil {
		return false, err
	}
	a.Ungrouped, a.Stats.Keys, a.Stats.Snapshots = c.ungrouped, c.keys, c.snapshots
	a.Bookmark, err = c.t.page(ctx, c.more, row)
	return true, err
}

// entryCount counts documents by the entries of a field.
type entryCount struct {
	*entriesOf

	src       *mango.Source
	t         *table
	row       []ejson.Value // the values of a group as a document has them
	byKey     bool          // values come in the order of the answer
	few       bool          // and a page has few of them beside the documents
	after     []byte        // the key of the last value that was taken, or of the page before
	ungrouped int64
	told      bool  // ungrouped is known
	different int64 // values
	keys      int64 // entries
	more      bool  // values follow that were not taken
	snapshots int64
}

// read reads what is left, from a newer snapshot where the one before became too old.
func (c *entryCount) read(s *storage.Snapshot) error {
	ix, have, err := c.open(s, c.src)
	if err != nil {
		return err
	}
	if ix == nil {
		return errUnknown
	}
	c.snapshots++
	if c.lack && !c.told {
		all, err := documents(s)
		if err != nil {
			return err
		}
		c.ungrouped, c.told = all-have, true
	}
	c.few = c.byKey && 2*c.t.r.page() <= have
	r := c.of
	switch {
	case c.after != nil:
		r.Start = allfields.AppendAfter(nil, c.after)
	case len(c.t.r.groups) == 0 && r.Start == nil:
		g, err := c.t.find(c.row)
		if err == nil {
			g.rows = have
		}
		return err
	}
	return ix.Distinct(r, c.keep, func(v *allfields.Distinct) error {
		if err := c.take(v); err != nil {
			return err
		}
		c.after = bytes.Clone(v.Key)
		s.Advance()
		return nil
	})
}

// keep grants bytes beside the groups.
func (c *entryCount) keep(bytes int) error {
	if c.src.Keep == nil {
		return nil
	}
	return c.src.Keep(c.t.granted + bytes)
}

// take takes the documents that have a value.
func (c *entryCount) take(v *allfields.Distinct) error {
	c.keys += v.Count
	if c.different++; c.different > fewEntries && 2*c.different > c.keys && !c.few {
		return errUnknown
	}
	for i := range c.t.r.groups {
		value, err := ejson.Parse(v.JSON)
		if err != nil {
			return err
		}
		c.row[c.t.r.groups[i].field] = value
	}
	if c.byKey && !c.t.ahead(c.row, &c.more) {
		if c.more {
			return storage.ErrStop
		}
		return nil
	}
	if c.t.behind(c.row) {
		return storage.ErrStop
	}
	g, err := c.t.find(c.row)
	if err == nil {
		g.rows += v.Count
	}
	return err
}
