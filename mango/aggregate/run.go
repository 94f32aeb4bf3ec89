package aggregate

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/views"
	"github.com/settee-db/settee/views/reduce"
	"github.com/settee-db/settee/views/viewquery"
)

// Answer is what follows the groups.
type Answer struct {
	Ungrouped int64  // documents that pass and have no group, whatever the page
	Bookmark  string // "" where no groups follow
	Stats     mango.Stats
}

// WantsStats reports whether the answer shows what the request cost.
func (p *Plan) WantsStats() bool { return p.r.ExecutionStats }

// errEnough ends the reading of an index: there are no more groups, or the page is full.
var errEnough = errors.New("aggregate: enough groups")

// Run answers the request: it calls row for each group of the page, a JSON object that is valid
// until row returns. On a store that limits the age of snapshots a long run goes on in a newer one,
// as a query does.
func (p *Plan) Run(ctx context.Context, src *mango.Source, row func(group []byte) error) (*Answer, error) {
	started := time.Now()
	a := &Answer{Stats: mango.Stats{Snapshots: 1}}
	give := func(group []byte) error {
		a.Stats.Results++
		return row(group)
	}
	done := false
	var err error
	switch {
	case src.Shown != nil: // the index counts documents that the user may not see
	case p.kind == entries:
		done, err = p.runEntries(ctx, src, a, give)
	case p.kind.rowless() && src.Views != nil:
		done, err = p.runRowless(ctx, src, a, give)
	}
	if !done && err == nil {
		if p.kind == inOrder {
			err = p.runInOrder(ctx, src, a, give)
		} else {
			err = p.runHashed(ctx, src, a, give)
		}
	}
	if errors.Is(err, errFull) && p.kind != inOrder && p.inOrder != nil {
		err = p.runInOrder(ctx, src, a, give)
	}
	if errors.Is(err, errFull) {
		err = p.r.errTooManyGroups()
	}
	a.Stats.Time = time.Since(started)
	return a, err
}

// runHashed keeps all groups of the documents found.
func (p *Plan) runHashed(ctx context.Context, src *mango.Source, a *Answer, row func([]byte) error) error {
	t := p.r.newTable(src.Keep)
	if len(p.r.groups) == 0 { // the one group is there without documents, too
		if _, err := t.find(nil); err != nil {
			return err
		}
	}
	if !p.find.Nothing() {
		found, err := p.find.Values(ctx, src, func(id []byte, values []ejson.Value) error {
			return t.add(ctx, id, values)
		})
		if err != nil {
			return err
		}
		a.took(found)
	}
	a.Ungrouped = t.ungrouped
	var err error
	a.Bookmark, err = t.page(ctx, false, row)
	return err
}

// took adds what a query read; its results are documents, those of the answer are groups.
func (a *Answer) took(found *mango.Answer) {
	results := a.Stats.Results
	a.Stats = found.Stats
	a.Stats.Results = results
}

// runInOrder keeps one group at a time of documents that come in the order of the groups.
func (p *Plan) runInOrder(ctx context.Context, src *mango.Source, a *Answer, row func([]byte) error) error {
	t := p.r.newTable(src.Keep)
	var g *group // nil: it is on a page before
	var last *place
	given := int64(0)
	end := func() error {
		if g == nil {
			return nil
		}
		f, err := p.r.finish(ctx, g)
		if err != nil {
			return err
		}
		given++
		last = &f.place
		return row(f.row)
	}
	var current []byte
	// Keys are compared by their sortable form: numbers that are written differently are one group.
	take := func(id []byte, values []ejson.Value) error {
		if !p.r.appendGroup(&t.key, values) {
			return errors.New("aggregate: an index has a row without a column")
		}
		if current == nil || !bytes.Equal(t.key.sortable, current) {
			if err := end(); err != nil {
				return err
			}
			current = append(current[:0], t.key.sortable...)
			// What the group before has held is free again: one group is in memory at a time.
			t.kept = 0
			g = nil
			at := place{key: t.key, terms: make([]keyOf, len(p.r.order))}
			if p.r.after == nil || p.r.compare(&at, p.r.after) > 0 {
				// One group more than the page has begun, so that there is a next page.
				if given == p.r.limit {
					if last != nil {
						a.Bookmark = p.r.bookmark(last)
					}
					return storage.ErrStop
				}
				g = p.r.newGroup(&t.key)
			}
		}
		if g == nil {
			return nil
		}
		grown, err := g.add(ctx, p.r, t.orderOf(id, values), values)
		if err != nil {
			return err
		}
		return t.grow(grown)
	}
	if p.inOrder.Nothing() {
		return nil
	}
	found, err := p.inOrder.Values(ctx, src, take)
	if err != nil {
		return err
	}
	a.took(found)
	return end() // of the last group, if the page was not full before
}

// runRowless asks an index for the number of its rows at each value, and for the sums of their
// fields; done is false where it cannot be asked now, or does not know.
func (p *Plan) runRowless(
	ctx context.Context, src *mango.Source, a *Answer, row func([]byte) error,
) (done bool, err error) {
	view, err := src.Views.View(ctx, src.DB, p.index.DDoc, p.index.Name)
	if err != nil {
		return false, err
	}
	if ready, err := mango.Ready(ctx, view); !ready || err != nil || !view.HasReduce() {
		return false, err
	}
	c := &countSink{ctx: ctx, p: p, t: p.r.newTable(src.Keep), row: make([]ejson.Value, len(p.r.fields)), total: -1}
	key, err := p.startKey()
	if err != nil {
		return false, err
	}
	query := &viewquery.Query{
		Reduce: true, GroupLevel: int64(len(p.equal) + len(p.r.groups)), StartKey: key, Partition: p.r.partition,
		Fields: p.kind == summed, Limit: 1<<63 - 1,
	}
	c.t.fromEnd = p.fromEnd
	if p.byKey {
		// room for the group of the bookmark, and for one more that shows whether others follow
		query.Limit = p.r.page() + 2
	}
	if len(p.r.groups) == 0 { // the one group is there without rows, too
		if _, err := c.t.find(c.row); err != nil {
			return false, err
		}
	}
	switch err := view.Query(ctx, query, c); {
	case errors.Is(err, errUnknown):
		return false, nil
	case err != nil && !errors.Is(err, errEnough):
		return false, err
	}
	if p.all {
		if c.total < 0 { // no group said which snapshot it came from
			return false, nil
		}
		a.Ungrouped = c.total - c.rows
	}
	a.Stats.Keys, a.Stats.Snapshots = c.groups, max(c.snapshots, 1)
	a.Bookmark, err = c.t.page(ctx, c.more, row)
	return true, err
}

// startKey is where an index is read from: at the values of its first columns, and where it has the
// groups in order, at the last group of the page before.
func (p *Plan) startKey() (ejson.Value, error) {
	parts := slices.Clone(p.equal)
	if p.byKey && p.r.after != nil {
		key, err := ejson.Parse(p.r.after.key.json)
		if err != nil {
			return key, err
		}
		parts = slices.AppendSeq(parts, key.Elements())
	}
	start := []byte{'['}
	for i, v := range parts {
		if i > 0 {
			start = append(start, ',')
		}
		start = v.AppendJSON(start)
	}
	return ejson.Parse(append(start, ']'))
}

// errUnknown says that an index has sums that do not tell a value.
var errUnknown = errors.New("aggregate: the index does not know")

// countSink takes the groups of an index.
type countSink struct {
	ctx    context.Context // of the request: the methods of a views.Sink are given none
	p      *Plan
	t      *table
	parser ejson.Parser
	row    []ejson.Value // the values of a group as a document has them
	groups int64
	rows   int64 // of all groups
	total  int64 // documents in the snapshot of the last groups; -1: there was none
	more   bool  // groups follow that were not taken

	last      *storage.Snapshot // that of the last groups
	snapshots int64
}

// Head implements views.Sink.
func (c *countSink) Head(*views.Head) error { return nil }

// Rows implements views.Sink. It ends the query behind the rows that have the values of the first
// columns: no key is known that ends them.
func (c *countSink) Rows(s *storage.Snapshot, rows []views.Row) (taken int, err error) {
	if c.last != s {
		c.last = s
		c.snapshots++
	}
	if c.p.all {
		if c.total, err = documents(s); err != nil {
			return 0, err
		}
	}
	for i := range rows {
		key, err := c.parser.Parse(rows[i].Key)
		if err != nil {
			return i, err
		}
		if err := c.take(key, rows[i].Value); err != nil {
			return i, err
		}
	}
	return len(rows), nil
}

// take takes the statistics of the rows of a key.
func (c *countSink) take(key ejson.Value, value []byte) error {
	p := c.p
	columns := key.Children()
	for _, want := range p.equal {
		if have, _ := columns.Next(); collate.Compare(have, want) != 0 {
			return errEnough
		}
	}
	for _, name := range p.index.Columns[len(p.equal) : len(p.equal)+len(p.r.groups)] {
		value, _ := columns.Next()
		c.row[slices.Index(p.r.fields, name)] = value
	}
	if p.byKey && !c.t.ahead(c.row, &c.more) {
		if c.more {
			return errEnough
		}
		return nil
	}
	if c.t.behind(c.row) {
		return errEnough
	}
	g, err := c.t.find(c.row)
	if err != nil {
		return err
	}
	n, err := c.join(g, value)
	g.rows += n
	c.rows += n
	c.groups++
	return err
}

// join adds what an index has of rows to their group; n is their number.
func (c *countSink) join(g *group, value []byte) (n int64, err error) {
	if c.p.kind == counted {
		return strconv.ParseInt(string(value), 10, 64)
	}
	n, fields, err := reduce.ParseFields(value)
	if err != nil {
		return 0, err
	}
	for i, acc := range g.values {
		if acc == nil {
			continue
		}
		at := slices.Index(c.p.index.Values, c.p.r.fields[c.p.r.values[i].field])
		if at >= len(fields) || fields[at].Unknown {
			return 0, errUnknown
		}
		known, err := acc.(summable).join(c.ctx, &fields[at])
		if err != nil {
			return 0, err
		}
		if !known {
			return 0, errUnknown
		}
		g.size += len(fields[at].Stats)
		if err := c.t.grow(len(fields[at].Stats)); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// documents is the number of documents that are not deleted and no design documents.
func documents(s *storage.Snapshot) (n int64, err error) {
	all, err := s.Stat(keyspace.DocCount)
	if err != nil {
		return 0, err
	}
	designs := storage.RangeOptions{Namespace: storage.NamespaceDesign, Limit: -1}
	err = s.AllDocs(designs, func(*storage.ListRow) error { n++; return nil })
	return all - n, err
}
