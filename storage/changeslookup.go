package storage

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// rowLookup finds rows of the changes feed by their documents' ids.
type rowLookup interface {
	// find returns the rows as a snapshot has them. It is called again with a later one when that
	// became too old.
	find(d *dbRead) ([]feedRow, error)
}

func lookUp(id string, winner *formats.Leaf, leaves int) feedRow {
	value := formats.Change{
		ID: id, Winner: winner.Rev, Deleted: winner.Deleted, Leaves: leaves, Kilobytes: winner.Kilobytes(),
	}
	return feedRow{seq: winner.Seq, value: value}
}

// lookup gives the rows that are found and o selects.
func (f Feed) lookup(
	ctx context.Context,
	o ChangesOptions,
	fn func(*Change) error,
	find rowLookup,
) (ChangesEnd, error) {
	c := changesScan{o: o, left: o.Limit, lookup: true}
	given := make(map[string]int) // rows given of each document
	c.fn = func(ch *Change) error {
		err := fn(ch)
		if err == nil {
			given[ch.ID]++
		}
		return err
	}
	err := f.db.view(ctx, func(d *dbRead) error {
		rows, err := find.find(d)
		if err != nil {
			return err
		}
		return c.giveAll(d, rows, given)
	})
	if errors.Is(err, ErrStop) {
		err = nil
	}
	return c.end, err
}

// giveAll gives looked up rows that were not given yet.
func (c *changesScan) giveAll(d *dbRead, rows []feedRow, given map[string]int) error {
	again, last := c.given, c.end.Last.Seq
	updates, err := c.start(d)
	if err != nil || c.left == 0 {
		return err
	}
	before := make(map[string]int) // rows of each document that come before one
	rows = slices.DeleteFunc(rows, func(r feedRow) bool {
		switch {
		case r.seq.Compare(c.o.Since) <= 0:
			return true
		case c.o.Descending: // a document that was updated meanwhile has moved away from the rows that are left
			before[r.value.ID]++
			return before[r.value.ID] <= given[r.value.ID]
		}
		return again && r.seq.Compare(last) <= 0
	})
	slices.SortStableFunc(rows, func(a, b feedRow) int { return a.seq.Compare(b.seq) })
	if err := d.countAfter(rows); err != nil {
		return err
	}
	c.prefetch.Begin(d.Wide(docread.MostWide))
	if !c.o.Descending {
		if err := c.giveByWindows(d, updates, rows); err != nil || c.left == 0 {
			return err
		}
		last, err := d.updateSeq()
		if err == nil {
			c.end.Last = last
		}
		return err
	}
	moved := len(rows)
	for moved > 0 && c.top.Before(rows[moved-1].seq) {
		moved--
	}
	slices.Reverse(rows[:moved])
	if err := c.giveByWindows(d, updates, rows[:moved]); err != nil || moved == len(rows) {
		return err
	}
	c.moved = true
	return c.giveByWindows(d, updates, rows[moved:])
}

// giveByWindows gives rows as long as there are to be any.
func (c *changesScan) giveByWindows(d *dbRead, updates int64, rows []feedRow) error {
	if c.left >= 0 {
		rows = rows[:min(int64(len(rows)), c.left)]
	}
	for len(rows) > 0 {
		n := min(len(rows), c.prefetch.Size())
		if err := c.giveRows(d, updates, rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// countAfter fills in after; rows ascend.
func (d *dbRead) countAfter(rows []feedRow) error {
	seqs := make([]Seq, len(rows))
	for i := range rows {
		seqs[i] = rows[i].seq
	}
	counts, err := d.RowsAfterEach(seqs)
	if err != nil {
		return err
	}
	for i := range rows {
		rows[i].after = counts[i]
	}
	return nil
}

// idLookup finds the rows of some documents.
type idLookup struct {
	ids     []string
	revoked bool      // also rows of documents that have left the slice
	done    int       // ids looked up
	rows    []feedRow // of those
}

// find implements rowLookup. Rows found in an older snapshot are compared with the feed.
func (l *idLookup) find(d *dbRead) ([]feedRow, error) {
	if err := l.refresh(d); err != nil {
		return nil, err
	}
	for l.done < len(l.ids) {
		ids := l.ids[l.done:min(len(l.ids), l.done+max(docread.LeavesAhead, d.Wide(docread.MostWide)))]
		rows, err := d.lookUpEach(ids, l.revoked)
		if err != nil {
			return nil, err
		}
		l.rows = append(l.rows, rows...)
		l.done += len(ids)
		d.Advance()
	}
	return slices.Clone(l.rows), nil
}

// refresh looks documents up again that are no longer where an older snapshot had them.
func (l *idLookup) refresh(d *dbRead) error {
	if len(l.rows) == 0 {
		return nil
	}
	keys := make([][]byte, len(l.rows))
	for i := range l.rows {
		keys[i] = d.Keys.SeqKey(nil, keyspace.TagChanges, l.rows[i].seq)
	}
	values, err := d.R.GetMany(keys)
	if err != nil {
		return err
	}
	var changed []string
	kept := make([]feedRow, 0, len(l.rows))
	for i, value := range values {
		if value == nil {
			changed = append(changed, l.rows[i].value.ID)
		} else {
			kept = append(kept, l.rows[i])
		}
	}
	rows, err := d.lookUpEach(changed, l.revoked)
	if err == nil {
		l.rows = append(kept, rows...)
	}
	return err
}

// lookUpEach finds the rows of documents that exist, and with revoked those of documents that have
// left the slice.
func (d *dbRead) lookUpEach(ids []string, revoked bool) ([]feedRow, error) {
	rows := make([]feedRow, 0, len(ids))
	for len(ids) > 0 {
		all, err := d.LeavesEach(ids, true)
		if err != nil {
			return nil, err
		}
		for i, leaves := range all {
			if n := len(leaves); n > 0 {
				rows = append(rows, lookUp(ids[i], &leaves[n-1], n))
				continue
			}
			var left []docread.Left
			if revoked {
				if left, err = docread.LeftBy(&d.Reader, ids[i], true); err != nil {
					return nil, err
				}
			}
			for _, l := range left {
				rows = append(rows, feedRow{seq: l.Seq, value: formats.Change{ID: ids[i], Deleted: true}, gone: l.Revs})
			}
		}
		ids = ids[len(all):]
	}
	return rows, nil
}

// designLookup finds the rows of all design documents.
type designLookup struct{}

// find implements rowLookup.
func (designLookup) find(d *dbRead) ([]feedRow, error) {
	if d.Who != nil {
		var ids []string
		err := d.listSlice(&RangeOptions{
			Start: Bound{ID: compat.DesignPrefix, Set: true}, Limit: -1,
			End: Bound{ID: designEnd, Set: true, Exclusive: true},
		}, func(r *ListRow) error {
			ids = append(ids, r.ID)
			return nil
		})
		if err != nil {
			return nil, err
		}
		return d.lookUpEach(ids, false)
	}
	prefix := d.Keys.Sub(nil, keyspace.TagRevs)
	begin := tuple.AppendString(prefix[:len(prefix):len(prefix)], "_design/")
	end := tuple.AppendString(prefix[:len(prefix):len(prefix)], "_design0")
	// Without the byte that ends a text these bound all texts that begin with `_design/`.
	it := d.R.Range(begin[:len(begin)-1], end[:len(end)-1], kv.RangeOptions{WantAll: true})
	defer it.Close()
	var rows []feedRow
	var doc []byte // key of the document at hand
	for it.Next() {
		key := it.Key()
		id, suffix, err := tuple.ReadString(key[len(prefix):])
		if err != nil {
			return nil, keyspace.Corrupt("leaf key", err)
		}
		if _, _, chunk, err := keyspace.ParseLeafKey(suffix); err == nil && len(chunk) > 0 {
			continue // of a long line
		}
		leaf, _, err := formats.ParseLeafHead(suffix, it.Value())
		if err != nil {
			return nil, err
		}
		leaves := 1
		// a later leaf of the same document: the winner is last
		if own := key[:len(key)-len(suffix)]; bytes.Equal(own, doc) {
			leaves += rows[len(rows)-1].value.Leaves
			rows = rows[:len(rows)-1]
		} else {
			doc = append(doc[:0], own...)
		}
		rows = append(rows, lookUp(id, &leaf, leaves))
	}
	return rows, it.Err()
}
