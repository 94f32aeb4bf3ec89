package levels

import (
	"bytes"
	"context"
	"slices"

	"github.com/settee-db/settee/views/reduce"
)

// A gatherer reduces groups, many of them in one call of their function. A group is a list of parts
// in the order of keys, each rows or an aggregate.
type gatherer struct {
	ctx        context.Context // of the query, in which it begins and ends
	fn         reduce.Func
	descending bool // the direction of reading, against which functions fold
	// Groups whose aggregates finish makes, in the order in which they were begun.
	groups []*gathered
	rows   int // not reduced yet
	size   int // bytes of them
}

// gathered is one group.
type gathered struct {
	parts []part
	// backward: parts, and the rows of each, came in descending order.
	backward bool
}

type part struct {
	rows []gatheredRow
	agg  reduce.Aggregate
}

// gatheredRow is a row with the emitted key's part of its key.
type gatheredRow struct {
	reduce.Row
	keyed []byte
}

// How much is gathered before it is reduced: all of it, rows of one group in one call, and groups.
const (
	maxGathered   = 1 << 20 // bytes
	maxRowsAtOnce = 1000
	maxGroups     = 256
)

// begin begins a group.
func (g *gatherer) begin(backward bool) *gathered {
	group := &gathered{backward: backward}
	g.groups = append(g.groups, group)
	return group
}

// row adds a row, whose memory must stay as it is, to a group.
func (g *gatherer) row(group *gathered, r gatheredRow) error {
	last := len(group.parts) - 1
	// Rows and aggregates alternate as they come; a part of rows has at most what one call takes.
	if last < 0 || group.parts[last].agg != nil || len(group.parts[last].rows) >= maxRowsAtOnce {
		group.parts = append(group.parts, part{})
		last++
	}
	group.parts[last].rows = append(group.parts[last].rows, r)
	g.rows++
	if g.size += len(r.Key) + len(r.ID) + len(r.Value); g.size < maxGathered && g.rows < 4*maxRowsAtOnce {
		return nil
	}
	return g.reduceRows()
}

// drop takes the rows that a group has out again.
func (g *gatherer) drop(group *gathered) {
	for _, p := range group.parts {
		g.rows -= len(p.rows)
	}
	group.parts = nil
}

// reduceRows turns all rows into aggregates.
func (g *gatherer) reduceRows() error {
	var lists [][]reduce.Row
	var parts []*part
	for _, group := range g.groups {
		for i := range group.parts {
			if p := &group.parts[i]; p.agg == nil {
				parts = append(parts, p)
				lists = append(lists, g.fold(p.rows, group.backward))
			}
		}
	}
	g.rows, g.size = 0, 0
	if len(lists) == 0 {
		return nil
	}
	aggs, err := g.fn.Reduce(g.ctx, lists)
	if err != nil {
		return err
	}
	for i, p := range parts {
		p.rows, p.agg = nil, aggs[i]
	}
	return nil
}

// fold puts rows in the order in which CouchDB hands them to a function: against the direction of
// reading, but those of one document with one key always in their order
// (couch_mrview_util:expand_dups).
func (g *gatherer) fold(rows []gatheredRow, backward bool) []reduce.Row {
	out := make([]reduce.Row, len(rows))
	for i := range rows {
		at := i
		if g.descending == backward { // ascending query, rows ascending; or both descending
			at = len(rows) - 1 - i
		}
		out[i] = rows[at].Row
	}
	if g.descending {
		return out
	}
	// The rows are against the order of keys now; turn those of one place round, but not keys that
	// only sort alike.
	same := func(i, k int) bool {
		if !backward {
			i, k = len(rows)-1-i, len(rows)-1-k
		}
		return bytes.Equal(rows[i].ID, rows[k].ID) && bytes.Equal(rows[i].Key, rows[k].Key)
	}
	for i := 0; i < len(out); {
		n := i + 1
		for n < len(out) && same(i, n) {
			n++
		}
		slices.Reverse(out[i:n])
		i = n
	}
	return out
}

// finish gives the aggregate of each group, nil for one without rows, and forgets the groups.
func (g *gatherer) finish() ([]reduce.Aggregate, error) {
	if err := g.reduceRows(); err != nil {
		return nil, err
	}
	out := make([]reduce.Aggregate, len(g.groups))
	var lists [][]reduce.Aggregate
	var asked []int
	for i, group := range g.groups {
		switch len(group.parts) {
		case 0:
		case 1:
			out[i] = group.parts[0].agg
		default:
			list := make([]reduce.Aggregate, len(group.parts))
			for k := range group.parts {
				list[k] = group.parts[k].agg
			}
			if g.descending == group.backward {
				slices.Reverse(list)
			}
			lists, asked = append(lists, list), append(asked, i)
		}
	}
	g.groups = g.groups[:0]
	if len(lists) == 0 {
		return out, nil
	}
	aggs, err := g.fn.Rereduce(g.ctx, lists)
	if err != nil {
		return nil, err
	}
	for k, i := range asked {
		out[i] = aggs[k]
	}
	return out, nil
}

// arena hands out copies in pieces of memory that grow.
type arena struct {
	free []byte
	size int // of the last piece
}

const (
	firstPiece = 1 << 10
	lastPiece  = 64 << 10
)

// copy gives a copy of b. Short ones share pieces, which double in size up to lastPiece; a long one
// has memory of its own, so that little of a piece is lost.
func (a *arena) copy(b []byte) []byte {
	if len(b) > len(a.free) {
		if len(b) > lastPiece/8 {
			return bytes.Clone(b)
		}
		a.size = max(min(2*a.size, lastPiece), firstPiece, len(b))
		a.free = make([]byte, a.size)
	}
	n := copy(a.free, b)
	out := a.free[:n:n]
	a.free = a.free[n:]
	return out
}
