package storage

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/settee-db/settee/storage/kv"
)

// lookedUp is a row of the changes feed found by the document's id.
type lookedUp struct {
	seq   Seq
	value changeValue
	after int64 // rows after it in the feed
}

func lookUp(id string, winner *leafRecord, leaves int) lookedUp {
	value := changeValue{id: id, winner: winner.Rev, deleted: winner.Deleted, leaves: leaves}
	return lookedUp{seq: winner.seq, value: value}
}

// lookup gives the rows that find returns and o selects.
func (db *DB) lookup(ctx context.Context, o ChangesOptions, fn func(*Change) error, find func(*dbRead) ([]lookedUp, error)) (ChangesEnd, error) {
	c := changesScan{o: o, fn: fn, left: o.Limit}
	err := db.viewOn(ctx, func(d *dbRead) error {
		rows, err := find(d)
		if err != nil {
			return err
		}
		return c.giveAll(d, rows)
	})
	if errors.Is(err, ErrStop) {
		err = nil
	}
	return c.end, err
}

// giveAll gives looked up rows that were not given yet.
func (c *changesScan) giveAll(d *dbRead, rows []lookedUp) error {
	given, last := c.given, c.end.Last.Seq
	updates, err := c.start(d)
	if err != nil || c.left == 0 {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r lookedUp) bool {
		if compareSeqs(r.seq, c.o.Since) <= 0 {
			return true
		}
		order := compareSeqs(r.seq, last)
		return given && (order == 0 || (order < 0) != c.o.Descending)
	})
	slices.SortStableFunc(rows, func(a, b lookedUp) int { return compareSeqs(a.seq, b.seq) })
	if err := d.countAfter(rows); err != nil {
		return err
	}
	if c.o.Descending {
		slices.Reverse(rows)
	}
	for i := range rows {
		r := &rows[i]
		if err := c.give(d, UpdateSeq{N: uint64(updates - r.after), Seq: r.seq}, &r.value); err != nil {
			return err
		}
		if c.left == 0 {
			return nil
		}
	}
	if !c.o.Descending {
		c.end.Last, err = d.updateSeq()
	}
	return err
}

// countAfter fills in after. Rows that lie close together are counted from one to the next.
func (d *dbRead) countAfter(rows []lookedUp) error {
	for i := len(rows) - 1; i >= 0; i-- {
		r := &rows[i]
		if i+1 < len(rows) {
			next := &rows[i+1]
			if next.seq == r.seq {
				r.after = next.after
				continue
			}
			between, complete, err := d.countRows(r.seq, next.seq, int(seqBlockRows))
			if err != nil {
				return err
			}
			if complete {
				r.after = next.after + between + 1
				continue
			}
		}
		var err error
		if r.after, err = d.rowsAfter(r.seq); err != nil {
			return err
		}
	}
	return nil
}

// designRows finds the rows of all design documents.
func (d *dbRead) designRows() ([]lookedUp, error) {
	prefix := d.keys.sub(nil, TagRevs)
	begin := kv.AppendString(prefix[:len(prefix):len(prefix)], "_design/")
	end := kv.AppendString(prefix[:len(prefix):len(prefix)], "_design0")
	// Without the byte that ends a text these bound all texts that begin with `_design/`.
	it := d.r.Range(begin[:len(begin)-1], end[:len(end)-1], kv.RangeOptions{WantAll: true})
	defer it.Close()
	var rows []lookedUp
	var doc []byte // key of the document at hand
	for it.Next() {
		key := it.Key()
		id, suffix, err := kv.ReadString(key[len(prefix):])
		if err != nil {
			return nil, corrupt("leaf key", err)
		}
		leaf, err := parseLeaf(suffix, it.Value())
		if err != nil {
			return nil, err
		}
		leaves := 1
		if own := key[:len(key)-len(suffix)]; bytes.Equal(own, doc) { // a later leaf of the same document: the winner is last
			leaves += rows[len(rows)-1].value.leaves
			rows = rows[:len(rows)-1]
		} else {
			doc = append(doc[:0], own...)
		}
		rows = append(rows, lookUp(id, &leaf, leaves))
	}
	return rows, it.Err()
}
