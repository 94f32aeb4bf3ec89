package storage

import (
	"context"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
)

// ErrStop ends a scan of the changes feed when its callback returns it: the row counts as seen, and there is no error.
var ErrStop = errors.New("storage: enough rows")

// LastSeq is the end of the changes feed, `since=now`.
func (db *DB) LastSeq(ctx context.Context) (last UpdateSeq, err error) {
	err = db.view(ctx, func(d *dbRead) (err error) {
		last, err = d.updateSeq()
		return err
	})
	return last, err
}

// Changes calls fn for the rows of the changes feed that o selects. Each document is there once, at its last update.
//
// All rows are of one snapshot, unless the scan takes longer than the store lets a snapshot live; then it goes on with a new one
// after the last row, and a document that was updated in between may come twice.
//
// ChangesEnd.Last is the last row fn has seen; without rows it is the start: o.Since, or with o.Descending the end of the feed.
// ChangesEnd.Pending are the rows that the direction has left then. Errors of fn are returned as they are, but for ErrStop.
func (db *DB) Changes(ctx context.Context, o ChangesOptions, fn func(*Change) error) (ChangesEnd, error) {
	c := changesScan{o: o, fn: fn, left: o.Limit}
	err := db.viewOn(ctx, c.scan)
	if errors.Is(err, ErrStop) {
		err = nil
	}
	return c.end, err
}

// changesScan is a scan of the changes feed; it can go on in another snapshot.
type changesScan struct {
	o     ChangesOptions
	fn    func(*Change) error
	left  int64 // rows that may still be given, < 0: any number
	given bool  // end.Last is a row given to fn
	end   ChangesEnd

	// What is given to fn, valid until it returns.
	change Change
	doc    Document
	key    []byte // scratch
}

// scan gives the rows that one snapshot has after those given before.
func (c *changesScan) scan(d *dbRead) error {
	updates, err := c.start(d)
	if err != nil || c.left == 0 {
		return err
	}
	it := d.r.Range(c.rest(d))
	defer it.Close()
	for after := int64(-1); it.Next(); {
		seq, err := parseSeq(it.Key())
		if err != nil {
			return err
		}
		row, err := parseChange(it.Value())
		if err != nil {
			return err
		}
		switch {
		case !c.o.Descending:
			after = c.end.Pending - 1
		case after < 0:
			if after, err = d.rowsAfter(seq); err != nil {
				return err
			}
		default:
			after++
		}
		if err := c.give(d, UpdateSeq{N: uint64(updates - after), Seq: seq}, &row); err != nil {
			return err
		}
		if c.left == 0 {
			break
		}
	}
	return it.Err()
}

// start brings c.end to what the snapshot says of the place reached so far, and returns the number of updates ever made.
func (c *changesScan) start(d *dbRead) (updates int64, err error) {
	counts, err := d.stats(statUpdates)
	if err != nil {
		return 0, err
	}
	updates = counts[0]
	place := c.o.Since
	if c.given && !c.o.Descending {
		place = c.end.Last.Seq
	}
	after, err := d.rowsAfter(place)
	if err != nil {
		return 0, err
	}
	switch {
	case c.given && c.o.Descending: // what is left after Since, without what lies above the last row
		newer, err := d.rowsFrom(c.end.Last.Seq)
		c.end.Pending = after - newer
		return updates, err
	case c.o.Descending:
		c.end.Last, err = d.updateSeq()
	case !c.given && place == Seq{}:
		c.end.Last = UpdateSeq{}
	case !c.given:
		c.end.Last = UpdateSeq{N: uint64(updates - after), Seq: place}
	}
	c.end.Pending = after
	return updates, err
}

// rowsFrom is the number of rows at seq and after it.
func (d *dbRead) rowsFrom(seq Seq) (int64, error) {
	after, err := d.rowsAfter(seq)
	if err != nil {
		return 0, err
	}
	row, err := d.r.Get(d.keys.seqKey(nil, TagChanges, seq))
	if row != nil {
		after++
	}
	return after, err
}

// rest is the range of the rows not given yet.
func (c *changesScan) rest(d *dbRead) (begin, end []byte, o kv.RangeOptions) {
	after, before := c.o.Since, Seq{}
	if c.given && c.o.Descending {
		before = c.end.Last.Seq
	} else if c.given {
		after = c.end.Last.Seq
	}
	o = kv.RangeOptions{Reverse: c.o.Descending, WantAll: c.left < 0, Limit: int(max(c.left, 0))}
	return d.seqRange(d.keys.sub(nil, TagChanges), after, before, o)
}

// give calls fn for a row.
func (c *changesScan) give(d *dbRead, seq UpdateSeq, row *changeValue) error {
	c.change = Change{Seq: seq, ID: row.id, Deleted: row.deleted, Revs: append(c.change.Revs[:0], row.winner)}
	if c.o.AllLeaves && row.leaves > 1 {
		leaves, err := d.leaves(row.id)
		if err != nil {
			return err
		}
		c.change.Revs = c.change.Revs[:0]
		for i := len(leaves) - 1; i >= 0; i-- {
			c.change.Revs = append(c.change.Revs, leaves[i].Rev)
		}
	}
	if c.o.IncludeDocs {
		var err error
		if c.change.Doc, err = c.open(d, row); err != nil {
			return err
		}
	}
	c.given, c.end.Last = true, seq
	c.end.Pending--
	if c.left > 0 {
		c.left--
	}
	return c.fn(&c.change)
}

// open reads the document of a row. Its body is valid as long as the snapshot is.
func (c *changesScan) open(d *dbRead, row *changeValue) (*Document, error) {
	if (c.o.Conflicts || c.o.DeletedConflicts) && row.leaves > 1 {
		return d.openWinner(row.id, OpenOptions{Deleted: true, Conflicts: c.o.Conflicts, DeletedConflicts: c.o.DeletedConflicts})
	}
	c.key = d.keys.leaf(c.key[:0], TagDocs, row.id, row.deleted, row.winner)
	e, found, err := d.readEntry(c.key)
	if err != nil {
		return nil, err
	}
	if !found {
		if !row.deleted {
			return nil, corrupt("change without its document", nil)
		}
		e.body = emptyBody
	}
	c.doc = Document{ID: row.id, Rev: row.winner, Deleted: row.deleted, Body: e.body, Attachments: e.atts}
	return &c.doc, nil
}

// ChangesByID is Changes for the documents with the given ids, which are looked up: rows in the order of the feed, two for an id
// given twice. If neither o.Limit nor fn cut the list, Last is the end of the feed; Pending are the rows after o.Since less those
// given (couch_changes:send_changes_doc_ids).
func (db *DB) ChangesByID(ctx context.Context, ids []string, o ChangesOptions, fn func(*Change) error) (ChangesEnd, error) {
	return db.lookup(ctx, o, fn, func(d *dbRead) ([]lookedUp, error) {
		var rows []lookedUp
		for _, id := range ids {
			if compat.IsLocalID(id) {
				continue
			}
			leaves, err := d.leaves(id)
			if err != nil {
				return nil, err
			}
			if len(leaves) > 0 {
				rows = append(rows, lookUp(id, &leaves[len(leaves)-1], len(leaves)))
			}
		}
		return rows, nil
	})
}

// ChangesDesign is ChangesByID for all design documents, the deleted ones too (couch_changes:send_changes_design_docs).
func (db *DB) ChangesDesign(ctx context.Context, o ChangesOptions, fn func(*Change) error) (ChangesEnd, error) {
	return db.lookup(ctx, o, fn, (*dbRead).designRows)
}
