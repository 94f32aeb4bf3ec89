package audience

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/revtree"
)

// Active are the principals that have rows after a sequence, in one round trip.
func (x Index) Active(r kv.ReadTx, who access.Principals, since compat.Seq) ([]string, error) {
	var keys [][]byte
	var names []string
	for p := range who.All() {
		keys, names = append(keys, x.last(p)), append(names, p)
	}
	values, err := r.GetMany(keys)
	if err != nil {
		return nil, err
	}
	active := names[:0]
	for i, value := range values {
		if value == nil {
			continue
		}
		last, err := keyspace.ParseSeq(value)
		if err != nil {
			return nil, err
		}
		if since.Before(last) {
			active = append(active, names[i])
		}
	}
	return active, nil
}

// Merged reads ranges of several principals as one, in the order of what follows their prefixes.
type Merged struct {
	cursors []cursor
	reverse bool
	quiet   []bool // of whose principals it is not told what has left their feeds; nil: of none
	from    []int  // the cursors that Values are of
	// Suffix is what follows the prefix in the keys of the row, Values are those of the principals
	// that have it. They are valid until Next.
	Suffix []byte
	Values [][]byte
}

type cursor struct {
	it     kv.Iterator
	prefix int
	at     bool // it is at a row
	taken  bool // which was given
}

// Merge begins a read below prefixes; bounds gives the range below one of them. The caller closes
// it.
func Merge(
	r kv.ReadTx,
	prefixes [][]byte,
	bounds func(prefix []byte) (begin, end []byte),
	o kv.RangeOptions,
) *Merged {
	m := &Merged{cursors: make([]cursor, len(prefixes)), reverse: o.Reverse}
	for i, prefix := range prefixes {
		begin, end := bounds(prefix)
		m.cursors[i] = cursor{it: r.Range(begin, end, o), prefix: len(prefix), at: true, taken: true}
	}
	return m
}

// Next moves to the next row; false at the end.
func (m *Merged) Next() (bool, error) {
	first := -1
	for i := range m.cursors {
		c := &m.cursors[i]
		if c.at && c.taken {
			c.at, c.taken = c.it.Next(), false
			if err := c.it.Err(); !c.at && err != nil {
				return false, err
			}
		}
		if c.at && (first < 0 || m.before(c, &m.cursors[first])) {
			first = i
		}
	}
	if first < 0 {
		return false, nil
	}
	m.Suffix, m.Values, m.from = m.cursors[first].suffix(), m.Values[:0], m.from[:0]
	for i := range m.cursors {
		if c := &m.cursors[i]; c.at && bytes.Equal(c.suffix(), m.Suffix) {
			c.taken, m.Values, m.from = true, append(m.Values, c.it.Value()), append(m.from, i)
		}
	}
	return true, nil
}

func (c *cursor) suffix() []byte { return c.it.Key()[c.prefix:] }

func (m *Merged) before(a, b *cursor) bool {
	order := bytes.Compare(a.suffix(), b.suffix())
	return order != 0 && (order < 0) != m.reverse
}

// Close ends the read.
func (m *Merged) Close() {
	for i := range m.cursors {
		_ = m.cursors[i].it.Close()
	}
}

// Row is the document of a row of feeds, as all the principals together see it: a leaf that names
// one of them beats that it is gone for another. Where several have it, Leaves is more than one: only
// the leaves tell how many they see together. Without any there is nothing to tell.
func (m *Merged) Row() (best Row, err error) {
	for i, value := range m.Values {
		row, err := ParseRow(value)
		if err != nil {
			return best, err
		}
		switch {
		case row.Gone != nil && m.quiet != nil && m.quiet[m.from[i]]:
		case best.Leaves == 0:
			best = row
		case best.Gone != nil && row.Gone != nil:
			best.Gone = union(best.Gone, row.Gone)
			best.Winner, best.Leaves = best.Gone[0], len(best.Gone)
		case row.Gone != nil:
		case best.Gone != nil:
			best = row
		default:
			leaves := max(best.Leaves, row.Leaves)
			if row.Winner != best.Winner {
				leaves = max(leaves, 2)
			}
			if beats(&row, &best) {
				best = row
			}
			best.Leaves = leaves
		}
	}
	return best, nil
}

func beats(a, b *Row) bool {
	of := func(r *Row) revtree.Leaf { return revtree.Leaf{Rev: r.Winner, Deleted: r.Deleted} }
	x, y := of(a), of(b)
	return revtree.Compare(&x, &y) < 0
}

// Winner is the winner of a row of lists among those of the principals: all are live.
func (m *Merged) Winner() (best compat.Rev, err error) {
	for _, value := range m.Values {
		rev, err := formats.ParseWinner(value)
		if err != nil {
			return best, err
		}
		if rev.Compare(best) > 0 {
			best = rev
		}
	}
	return best, nil
}

// union are the revisions of two lists that descend.
func union(a, b []compat.Rev) (all []compat.Rev) {
	for len(a)+len(b) > 0 {
		switch order := compareFirst(a, b); {
		case order > 0:
			all, a = append(all, a[0]), a[1:]
		case order < 0:
			all, b = append(all, b[0]), b[1:]
		default:
			all, a, b = append(all, a[0]), a[1:], b[1:]
		}
	}
	return all
}

func compareFirst(a, b []compat.Rev) int {
	if len(a) == 0 || len(b) == 0 {
		return cmp.Compare(len(a), len(b))
	}
	return a[0].Compare(b[0])
}

// Feed begins a read of the feeds of principals in a range of sequences; bounds gives its keys. What
// has left a feed is told of the user's own: of a role it would be told to who got the role later.
func (x Index) Feed(
	r kv.ReadTx,
	principals []string,
	bounds func(prefix []byte) (begin, end []byte),
	o kv.RangeOptions,
) *Merged {
	prefixes, quiet := make([][]byte, len(principals)), make([]bool, len(principals))
	for i, p := range principals {
		prefixes[i], quiet[i] = x.Rows(p), !strings.HasPrefix(p, access.UserPrefix)
	}
	m := Merge(r, prefixes, bounds, o)
	m.quiet = quiet
	return m
}

// Gone is what a principal saw of a document that it sees no more, by the sight that says so.
func (x Index) Gone(r kv.ReadTx, s formats.Sight) ([]compat.Rev, error) {
	value, err := r.Get(x.row(s.Principal, s.Seq))
	if err != nil {
		return nil, err
	}
	row, err := ParseRow(value)
	if err == nil && row.Gone == nil {
		err = keyspace.Corrupt("row of a principal", nil)
	}
	return row.Gone, err
}

// Counts are the documents that principals see.
type Counts struct {
	Live, Deleted int64
	Exact         bool // false: there are at least so many
}

// MostCounted is up to how many rows documents of several principals are counted.
const MostCounted = 10_000

// Count counts the documents that principals see, exactly those of one; of several, whose documents
// may be the same, by a walk over MostCounted rows at most.
func (x Index) Count(r kv.ReadTx, who access.Principals) (c Counts, err error) {
	active, err := x.Active(r, who, compat.Seq{})
	if err != nil || len(active) == 0 {
		return Counts{Exact: true}, err
	}
	if len(active) == 1 {
		keys := [][]byte{x.counter(active[0], countLive), x.counter(active[0], countDeleted)}
		counts, err := keyspace.ReadCounters(r, keys)
		if err != nil {
			return c, err
		}
		return Counts{Live: counts[0], Deleted: counts[1], Exact: true}, nil
	}
	m := x.Feed(r, active, func(prefix []byte) (begin, end []byte) {
		return prefix, kv.AppendPrefixEnd(nil, prefix)
	}, kv.RangeOptions{})
	defer m.Close()
	for n := 0; ; n++ {
		more, err := m.Next()
		if err != nil || !more {
			c.Exact = err == nil
			return c, err
		}
		if n == MostCounted {
			return c, nil
		}
		row, err := m.Row()
		switch {
		case err != nil:
			return c, err
		case row.Leaves == 0 || row.Gone != nil:
		case row.Deleted:
			c.Deleted++
		default:
			c.Live++
		}
	}
}

// mostPending is up to how many rows Pending counts.
const mostPending = 1000

// Pending counts the rows of principals after a sequence, up to a thousand; with gone also those that
// tell what has left a feed, though another principal may see the document.
func (x Index) Pending(
	r kv.ReadTx, who access.Principals, since compat.Seq, gone bool,
) (n int64, err error) {
	active, err := x.Active(r, who, since)
	if err != nil {
		return 0, err
	}
	m := x.Feed(r, active, func(prefix []byte) (begin, end []byte) {
		end = kv.AppendPrefixEnd(nil, prefix)
		return kv.AppendKeyAfter(nil, keyspace.AppendSeq(prefix, since)), end
	}, kv.RangeOptions{Limit: mostPending})
	defer m.Close()
	for n < mostPending {
		more, err := m.Next()
		if err != nil || !more {
			return n, err
		}
		row, err := m.Row()
		if err != nil {
			return 0, err
		}
		if row.Leaves > 0 && (gone || row.Gone == nil) {
			n++
		}
	}
	return n, nil
}
