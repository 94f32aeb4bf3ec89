package storage

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/audience"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// errWhole refuses what shows, or changes, all of a database to who sees a slice of it.
var errWhole = compat.NewError(compat.KindForbidden, "only administrators see the whole database")

// As is the same database as somebody sees it. In a database with access for each document all
// reads answer as one would that has only the leaves that name one of the principals: documents,
// revisions, lists, the changes feed, counts; _local documents are the user's own. Edits are held to
// access.Check. What is about all of the database is forbidden: snapshots and transactions of higher
// layers, purges, compaction, partitions. Other databases are what they are to everybody.
//
// Lists do not count beyond audience.MostCounted rows of several principals: ListHeader.Total is -1
// then, and ListHeader.Offset wherever a list does not begin at the first row. ChangesEnd.Pending is
// a thousand at most. Numbers of sequences in one scan of the feed ascend, but are exact only in its
// first row.
func (db *DB) As(who access.Principals) *DB {
	own := *db
	if own.who = nil; !who.SeesAll() {
		own.who = &who
	}
	return &own
}

// slice restricts a read of a database with access for each document.
func (d *dbRead) slice(who *access.Principals) { d.Who, d.User = who, who.User() }

// whole refuses a read that cannot be restricted.
func (d *dbRead) whole() error {
	if d.Who != nil {
		return errWhole
	}
	return nil
}

// whole refuses a transaction that is about all of the database.
func (t *dbTx) whole(db *DB) error {
	if t.Rec.Access.On && db.who != nil {
		return errWhole
	}
	return nil
}

func (d *dbRead) index() audience.Index { return audience.Index{Keys: d.Keys} }

// sliceInfo is info of a slice. What others have is not told: sizes are 0.
func (d *dbRead) sliceInfo() (*Info, error) {
	counts, err := d.index().Count(d.R, *d.Who)
	if err != nil {
		return nil, err
	}
	seq, err := d.updateSeq()
	return &Info{
		Name: d.Name, UUID: d.Rec.UUID, Created: d.Rec.Created, Partitioned: d.Rec.Partitioned,
		Access: true, Q: int(d.Rec.Q), N: int(d.Rec.N),
		DocCount: counts.Live, DocDelCount: counts.Deleted, UpdateSeq: seq,
	}, err
}

// sliceHeader counts what a list of a slice has.
func (d *dbRead) sliceHeader(o *RangeOptions) (h ListHeader, err error) {
	counts, err := d.index().Count(d.R, *d.Who)
	if err != nil {
		return h, err
	}
	h.Total, h.Offset = counts.Live, o.Skip
	if !counts.Exact || o.Namespace == NamespaceDesign {
		h.Total = -1
	}
	if h.Total >= 0 {
		h.Offset = min(h.Offset, h.Total)
	}
	if o.Start.Set {
		h.Offset = -1
	}
	if o.WithSeq {
		h.UpdateSeq, err = d.updateSeq()
	}
	return h, err
}

// listSlice lists the documents of a slice: the lists of its principals merged, each document once.
func (d *dbRead) listSlice(o *RangeOptions, row func(*ListRow) error) error {
	if o.Limit == 0 {
		return nil
	}
	active, err := d.index().Active(d.R, *d.Who, Seq{})
	if err != nil {
		return err
	}
	prefixes := make([][]byte, len(active))
	for i, p := range active {
		prefixes[i] = d.index().List(p)
	}
	limits := kv.RangeOptions{Reverse: o.Descending, Limit: o.scanLimit()}
	m := audience.Merge(d.R, prefixes, o.keys, limits)
	defer m.Close()
	l := idList{o: *o, row: func(r *ListRow) error { return d.giveRow(o, r, row) }}
	l.prefetch.Begin(d.Wide(docread.MostWide))
	for o.Limit != 0 {
		more, err := m.Next()
		if err != nil || !more {
			if err == nil {
				err = l.giveAll(d)
			}
			return err
		}
		id, _, err := tuple.ReadString(m.Suffix)
		if err != nil {
			return keyspace.Corrupt("list of a principal", err)
		}
		if o.Skip == 0 && o.IncludeDocs {
			l.ids = append(l.ids, id)
			if n := len(l.ids); int64(n) == o.Limit || n >= l.prefetch.Size() {
				if err := l.giveAll(d); err != nil {
					return err
				}
			}
			continue
		}
		r := ListRow{ID: id, Found: true}
		if r.Rev, err = m.Winner(); err != nil {
			return err
		}
		if err := d.giveRow(o, &r, row); err != nil {
			return err
		}
	}
	return nil
}

// giveAll gives the documents of the ids at hand.
func (l *idList) giveAll(d *dbRead) error {
	for len(l.ids) > 0 {
		size, err := l.giveSome(d, l.ids[:min(len(l.ids), l.prefetch.Size())])
		if err != nil {
			return err
		}
		l.prefetch.Took(size)
	}
	return nil
}

// sliceRow fills in the row of a document of a slice, and where its entry is.
func (l *idList) sliceRow(d *dbRead, r *ListRow, leaves []formats.Leaf) (read docread.EntryRead) {
	n := len(leaves)
	if n == 0 || leaves[n-1].Deleted {
		return read
	}
	r.Found, r.Rev = true, leaves[n-1].Rev
	if l.o.IncludeDocs {
		read = d.LeafRead(r.ID, &leaves[n-1])
		read.Members = l.o.Members
	}
	return read
}

// feedScan are the rows of a range of the feed, or of that of a slice.
type feedScan struct {
	d      *dbRead
	it     kv.Iterator
	merged *audience.Merged
}

// feedScan begins a read of a range of the feed.
func (d *dbRead) feedScan(rest *feedRange) (*feedScan, error) {
	if d.Who == nil {
		return &feedScan{d: d, it: d.R.Range(rest.begin, rest.end, rest.o)}, nil
	}
	active, err := d.index().Active(d.R, *d.Who, rest.after)
	if err != nil {
		return nil, err
	}
	// what follows it in a bound, a sequence, follows the prefixes of principals
	own := len(d.Keys.Sub(nil, keyspace.TagChanges))
	o := rest.o
	o.Limit = 0 // some rows are not shown
	m := d.index().Feed(d.R, active, func(prefix []byte) (begin, end []byte) {
		begin = append(slices.Clip(prefix), rest.begin[min(own, len(rest.begin)):]...)
		if end = kv.AppendPrefixEnd(nil, prefix); len(rest.end) > own {
			end = append(slices.Clip(prefix), rest.end[own:]...)
		}
		return begin, end
	}, o)
	return &feedScan{d: d, merged: m}, nil
}

func (f *feedScan) close() {
	if f.merged != nil {
		f.merged.Close()
		return
	}
	_ = f.it.Close()
}

// next reads the next row; ok is false at the end.
func (f *feedScan) next() (row feedRow, ok bool, err error) {
	if f.merged == nil {
		if !f.it.Next() {
			return row, false, f.it.Err()
		}
		if row.seq, err = keyspace.ParseSeq(f.it.Key()); err == nil {
			row.value, err = formats.ParseChange(f.it.Value())
		}
		return row, err == nil, err
	}
	for {
		if ok, err = f.merged.Next(); err != nil || !ok {
			return row, false, err
		}
		r, err := f.merged.Row()
		if err != nil {
			return row, false, err
		}
		if r.Leaves == 0 { // it tells others what has left their slices
			continue
		}
		row.seq, err = keyspace.ParseSeq(f.merged.Suffix)
		row.value = formats.Change{ID: r.ID, Winner: r.Winner, Deleted: r.Deleted, Leaves: r.Leaves}
		row.gone = r.Gone
		return row, err == nil, err
	}
}
