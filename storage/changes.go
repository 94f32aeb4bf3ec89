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
	"github.com/settee-db/settee/storage/listeners"
	"github.com/settee-db/settee/storage/timeseq"
)

// ErrStop ends a scan of the changes feed when its callback returns it: the row counts as seen, and
// there is no error.
var ErrStop = errors.New("storage: enough rows")

// Feed is the changes feed of a database.
type Feed struct{ db *DB }

// Feed gives the changes feed.
func (db *DB) Feed() Feed { return Feed{db} }

// Last is the end of the changes feed, `since=now`.
func (f Feed) Last(ctx context.Context) (last UpdateSeq, err error) {
	err = f.db.view(ctx, func(d *dbRead) (err error) {
		last, err = d.updateSeq()
		return err
	})
	return last, err
}

// Begin is where a feed begins that a client asks for; of a time see counts.Reader.Since.
func (f Feed) Begin(ctx context.Context, since compat.Since) (first UpdateSeq, err error) {
	first.Seq = since.Seq
	if !since.Now && !since.Timed {
		return first, nil
	}
	err = f.db.view(ctx, func(d *dbRead) (err error) {
		now := since.Now
		if since.Timed {
			first.Seq, now, err = d.Since(since.Time)
		}
		if now && err == nil {
			first, err = d.updateSeq()
		}
		return err
	})
	return first, err
}

// Times counts the updates of the database by when they were made, as far as that is known; see
// timeseq.Histogram.
func (f Feed) Times(ctx context.Context) (bins []timeseq.Bin, err error) {
	err = f.db.view(ctx, func(d *dbRead) (err error) {
		if err = d.whole(); err != nil {
			return err
		}
		bins, err = d.TimeSeq()
		return err
	})
	return bins, err
}

// ForgetTimes forgets when updates were made: a time before the next update is the beginning then.
func (f Feed) ForgetTimes(ctx context.Context) error {
	return kv.FromReserve(ctx, func(ctx context.Context) error {
		return f.db.update(ctx, func(t *dbTx) error {
			if err := t.whole(f.db); err != nil {
				return err
			}
			t.Reader.ForgetTimes(t.tx, t.Rec.Incarnation)
			return nil
		})
	})
}

// Changes calls fn for the rows of the changes feed that o selects. Each document is there once, at
// its last update.
//
// All rows are of one snapshot, unless the scan takes longer than the store lets a snapshot live;
// then it goes on with a new one after the last row, and a document that was updated in between may
// come twice. In a descending scan such a document has moved to where the scan has been; so when it
// has come to its end, the rows that are newer than its beginning follow, in ascending order: every
// document that was there when the scan began comes at least once (ADR 0016).
//
// ChangesEnd.Last is the last row fn has seen; without rows it is the start: o.Since, or with
// o.Descending the end of the feed. ChangesEnd.Pending are the rows that the direction has left
// then. Rows that follow a descending scan count for neither. Errors of fn are returned as they
// are, but for ErrStop.
func (f Feed) Changes(ctx context.Context, o ChangesOptions, fn func(*Change) error) (ChangesEnd, error) {
	c := changesScan{o: o, fn: fn, left: o.Limit}
	err := f.db.view(kv.WithPrefetch(ctx, "feed"), c.scan)
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
	after int64 // rows of the feed of all after the place reached, when the snapshot began
	end   ChangesEnd
	// count are the rows given, of a scan that looks its rows up.
	lookup   bool
	count    int64
	prefetch docread.Window
	rows     []feedRow           // the window
	reads    []docread.EntryRead // of their documents
	mem      []byte              // of the keys
	room     docread.BodyRoom    // of their bodies

	// Of a descending scan:
	top   Seq  // the end of the feed in the snapshot of the first row
	aged  bool // it goes on in another snapshot than it began in
	moved bool // all rows are given but those after top

	// What is given to fn, valid until it returns.
	change Change
	doc    docread.Document
}

// feedRow is a row of the changes feed.
type feedRow struct {
	seq   Seq
	value formats.Change
	after int64        // rows after it in the feed
	gone  []compat.Rev // of a slice that the document has left: what was seen of it
}

// scan gives the rows that one snapshot has after those given before.
func (c *changesScan) scan(d *dbRead) error {
	updates, err := c.start(d)
	if err != nil || c.left == 0 {
		return err
	}
	first := docread.FirstWide
	if c.o.Unnumbered {
		first = docread.MostWide
	}
	c.prefetch.Begin(d.Wide(first))
	if !c.moved {
		err := c.scanRest(d, updates)
		c.end.More = c.o.Unnumbered && (err != nil || c.left == 0)
		if err != nil || !c.aged || c.left == 0 {
			return err
		}
		c.moved = true
		d.Advance()
	}
	return c.scanMoved(d, updates)
}

// scanRest gives what is left in the scan's direction.
func (c *changesScan) scanRest(d *dbRead, updates int64) error {
	after := c.after // rows after the row before
	first := true
	err := c.scanRange(d, updates, c.rest(d), func(seq Seq) (int64, error) {
		switch {
		case c.o.Unnumbered:
		case !c.o.Descending:
			after--
		case first:
			var err error
			if after, err = d.RowsAfter(seq); err != nil {
				return 0, err
			}
		default:
			after++
		}
		first = false
		return after, nil
	})
	if err == nil && c.left != 0 && d.Who != nil { // some of the rows that were counted are not shown
		c.end.Pending = 0
	}
	return err
}

// scanMoved gives the rows that are newer than the beginning of a descending scan: documents that
// were updated while it ran, and so moved to where it had been.
func (c *changesScan) scanMoved(d *dbRead, updates int64) error {
	after, err := d.RowsAfter(c.top)
	if err != nil {
		return err
	}
	return c.scanRange(d, updates, c.rest(d), func(Seq) (int64, error) {
		after--
		return after, nil
	})
}

// scanRange gives the rows of a range by windows. number tells how many rows of the feed come after
// each.
func (c *changesScan) scanRange(d *dbRead, updates int64, rest feedRange, number func(Seq) (int64, error)) error {
	feed, err := d.feedScan(&rest)
	if err != nil {
		return err
	}
	defer feed.close()
	window := 1
	c.rows = c.rows[:0]
	for {
		row, ok, err := feed.next()
		if err != nil {
			return err
		}
		if !ok {
			return c.giveRows(d, updates, c.rows)
		}
		if row.after, err = number(row.seq); err != nil {
			return err
		}
		if c.readsMore(d) {
			window = c.prefetch.Size()
		}
		if c.left > 0 { // the range of a slice has no limit: some of its rows are not shown
			window = int(min(int64(window), c.left))
		}
		if c.rows = append(c.rows, row); len(c.rows) < window {
			continue
		}
		if err := c.giveRows(d, updates, c.rows); err != nil {
			return err
		}
		if c.rows = c.rows[:0]; c.left == 0 {
			return nil
		}
	}
}

// readsMore reports whether rows need more than what the feed says. In a slice the leaves tell
// whether a document has left it for good.
func (c *changesScan) readsMore(d *dbRead) bool {
	return c.o.IncludeDocs || c.o.AllLeaves || d.Who != nil
}

// start computes c.end for the place reached so far in this snapshot, and returns the number of
// updates ever made.
func (c *changesScan) start(d *dbRead) (updates int64, err error) {
	if c.o.Unnumbered {
		if !c.given {
			c.end = ChangesEnd{Last: UpdateSeq{Seq: c.o.Since}, More: true}
		}
		return 0, nil
	}
	counts, err := d.StatsBeside(keyspace.Updates)
	if err != nil {
		return 0, err
	}
	updates = counts[0]
	place := c.o.Since
	if c.given && !c.o.Descending && !c.lookup {
		place = c.end.Last.Seq
	}
	after, err := d.RowsAfter(place)
	if err != nil {
		return 0, err
	}
	c.after = after
	pending := after
	if d.Who != nil {
		if pending, err = d.index().Pending(d.R, *d.Who, place, c.o.Revoked && !c.lookup); err != nil {
			return 0, err
		}
	}
	switch {
	case c.given && c.lookup:
		c.end.Pending = max(pending-c.count, 0)
		return updates, nil
	case c.given && c.o.Descending: // what is left after Since, without what lies above the last row
		c.aged = true
		newer, err := d.rowsFrom(c.end.Last.Seq)
		c.end.Pending = max(pending-newer, 0)
		return updates, err
	case c.o.Descending:
		c.end.Last, err = d.updateSeq()
		c.top = c.end.Last.Seq
	case !c.given && place == Seq{}:
		c.end.Last = UpdateSeq{}
	case !c.given:
		c.end.Last = UpdateSeq{N: uint64(updates - after), Seq: place}
	}
	c.end.Pending = pending
	return updates, err
}

// rowsFrom is the number of rows at seq and after it.
func (d *dbRead) rowsFrom(seq Seq) (int64, error) {
	after, err := d.RowsAfter(seq)
	if err != nil {
		return 0, err
	}
	row, err := d.R.Get(d.Keys.SeqKey(nil, keyspace.TagChanges, seq))
	if row != nil {
		after++
	}
	return after, err
}

// feedRange is a range of rows.
type feedRange struct {
	begin, end []byte
	after      Seq
	o          kv.RangeOptions
}

// rest is the range of the rows not given yet.
func (c *changesScan) rest(d *dbRead) (r feedRange) {
	after, before := c.o.Since, Seq{}
	switch {
	case c.moved:
		after = c.top
	case c.given && c.o.Descending:
		before = c.end.Last.Seq
	case c.given:
		after = c.end.Last.Seq
	}
	o := kv.RangeOptions{
		Reverse: c.o.Descending && !c.moved,
		WantAll: c.left < 0 || c.left >= docread.MostRows,
		Limit:   int(max(c.left, 0)),
	}
	r.after = after
	r.begin, r.end, r.o = d.SeqRange(d.Keys.Sub(nil, keyspace.TagChanges), after, before, o)
	if c.o.Until != (Seq{}) {
		r.end = kv.AppendKeyAfter(nil, d.Keys.SeqKey(nil, keyspace.TagChanges, c.o.Until))
	}
	return r
}

// giveRows calls fn for rows, what belongs to which it reads together.
func (c *changesScan) giveRows(d *dbRead, updates int64, rows []feedRow) error {
	if len(rows) == 0 {
		return nil
	}
	if !c.readsMore(d) {
		for i := range rows {
			seq := UpdateSeq{N: uint64(updates - rows[i].after), Seq: rows[i].seq}
			if err := c.give(d, seq, &rows[i].value, nil, nil); err != nil {
				return err
			}
		}
		return nil
	}
	for len(rows) > 0 {
		n, err := c.giveSome(d, updates, rows[:min(len(rows), c.prefetch.Size())])
		if err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// giveSome is giveRows for the first of some rows that show more than the feed says, and tells how
// many these are.
func (c *changesScan) giveSome(d *dbRead, updates int64, rows []feedRow) (n int, err error) {
	leaves, err := c.readLeaves(d, rows)
	if err != nil {
		return 0, err
	}
	if leaves != nil {
		c.prefetch.Reached(len(leaves), len(rows))
		rows = rows[:len(leaves)]
	}
	give := func(i int, e *formats.Entry) error {
		var own []formats.Leaf
		if leaves != nil {
			own = leaves[i]
		}
		seq := UpdateSeq{N: uint64(updates - rows[i].after), Seq: rows[i].seq}
		if rows[i].gone != nil {
			if len(own) > 0 || !c.o.Revoked { // it is seen by another principal
				return nil
			}
			return c.giveGone(d, seq, &rows[i])
		}
		return c.give(d, seq, &rows[i].value, own, e)
	}
	if !c.o.IncludeDocs {
		for i := range rows {
			if err := give(i, nil); err != nil {
				return 0, err
			}
		}
		c.prefetch.Took(0)
		return len(rows), nil
	}
	c.reads, c.mem = c.reads[:0], c.mem[:0]
	for i := range rows {
		row := &rows[i].value
		var read docread.EntryRead
		switch {
		case d.Who == nil:
			read, c.mem = d.WinnerRead(c.mem, row.ID, row.Deleted, row.Winner, row.Kilobytes)
		case leaves != nil && len(leaves[i]) > 0: // none where the slice has lost all of the rows
			read = d.LeafRead(row.ID, &leaves[i][len(leaves[i])-1])
		}
		read.Members = c.o.Members
		c.reads = append(c.reads, read)
	}
	size := 0
	err = d.ReadEntries(&c.room, c.reads, func(i int, e *formats.Entry, found bool) error {
		if !found && !rows[i].value.Deleted && d.Who == nil {
			return keyspace.Corrupt("change without its document", nil)
		}
		size += int(e.Size)
		return give(i, e)
	})
	c.prefetch.Took(size)
	return len(rows), err
}

// readLeaves reads the leaves of the rows that show more of them than the winner, or of the first
// of them; nil if there are no such rows.
func (c *changesScan) readLeaves(d *dbRead, rows []feedRow) ([][]formats.Leaf, error) {
	if d.Who == nil && !c.o.AllLeaves && !(c.o.IncludeDocs && (c.o.Conflicts || c.o.DeletedConflicts)) {
		return nil, nil
	}
	var ids []string
	for i := range rows {
		needed := rows[i].value.Leaves > 1
		if d.Who != nil && rows[i].gone == nil {
			needed = needed || c.o.IncludeDocs // the winner may be another than the document's
		} else if d.Who != nil {
			needed = c.o.Revoked
		}
		if !needed {
			continue
		}
		if ids == nil {
			ids = make([]string, len(rows))
		}
		ids[i] = rows[i].value.ID
	}
	if ids == nil {
		return nil, nil
	}
	return d.LeavesEach(ids, true)
}

// give calls fn for a row; leaves are nil where only the winner is shown, e is nil without
// documents. Only a row that fn has taken counts as passed.
func (c *changesScan) give(
	d *dbRead,
	seq UpdateSeq,
	row *formats.Change,
	leaves []formats.Leaf,
	e *formats.Entry,
) error {
	c.change = Change{Seq: seq, ID: row.ID, Deleted: row.Deleted, Revs: append(c.change.Revs[:0], row.Winner)}
	if c.o.AllLeaves && leaves != nil {
		c.change.Revs = c.change.Revs[:0]
		for i := len(leaves) - 1; i >= 0; i-- {
			c.change.Revs = append(c.change.Revs, leaves[i].Rev)
		}
	}
	if e != nil {
		c.doc = docread.Document{
			ID: row.ID, Rev: row.Winner, Deleted: row.Deleted, Body: e.Body, Partial: e.Partial(), Attachments: e.Atts,
		}
		c.doc.AddConflicts(leaves, c.o.Conflicts, c.o.DeletedConflicts)
		c.change.Doc = &c.doc
	}
	return c.hand(d, seq)
}

// giveGone calls fn for a row that tells of a document that has left the slice.
func (c *changesScan) giveGone(d *dbRead, seq UpdateSeq, row *feedRow) error {
	c.change = Change{
		Seq: seq, ID: row.value.ID, Deleted: true, Revoked: true,
		Revs: docread.AppendTombstones(&d.Reader, c.change.Revs[:0], row.value.ID, row.gone),
	}
	if c.o.IncludeDocs {
		c.change.Doc = docread.NewDocument(row.value.ID, c.change.Revs[0], true, formats.Entry{})
	}
	return c.hand(d, seq)
}

// hand calls fn with the row at hand, and moves the scan past it if the callback has taken it.
func (c *changesScan) hand(d *dbRead, seq UpdateSeq) error {
	err := c.fn(&c.change)
	if err != nil && !errors.Is(err, ErrStop) {
		return err
	}
	d.Advance()
	c.count++
	if c.left > 0 {
		c.left--
	}
	if c.moved {
		c.top = seq.Seq
		return err
	}
	c.given, c.end.Last = true, seq
	if !c.o.Unnumbered && (c.end.Pending > 0 || d.Who == nil) {
		c.end.Pending--
	}
	return err
}

// ByID is Changes for the documents with the given ids, which are looked up: rows in the
// order of the feed, two for an id given twice. If neither o.Limit nor fn cut the list, Last is the
// end of the feed; Pending are the rows after o.Since less those given
// (couch_changes:send_changes_doc_ids). A document that was updated after a descending scan began
// comes after the others.
func (f Feed) ByID(
	ctx context.Context,
	ids []string,
	o ChangesOptions,
	fn func(*Change) error,
) (ChangesEnd, error) {
	ids = slices.DeleteFunc(slices.Clone(ids), compat.IsLocalID)
	return f.lookup(ctx, o, fn, &idLookup{ids: ids, revoked: o.Revoked})
}

// Designs is ByID for all design documents, the deleted ones too
// (couch_changes:send_changes_design_docs).
func (f Feed) Designs(ctx context.Context, o ChangesOptions, fn func(*Change) error) (ChangesEnd, error) {
	return f.lookup(ctx, o, fn, designLookup{})
}

// Listen registers for the updates of the database, or of the slice that is read. Updates committed
// after it returned are reported by the listener, so listen first and read then; it may report some
// that are of others. The error is compat.ErrNoDatabase if there is none. The caller closes the
// listener.
func (f Feed) Listen(ctx context.Context) (*listeners.Listener, error) {
	var principals []string
	whole := *f.db
	if f.db.who != nil {
		principals, whole.who = slices.AppendSeq([]string{}, f.db.who.All()), nil
	}
	return whole.store.bg.listeners.Listen(ctx, whole.name, principals, readStates(&whole))
}

// readStates reads the states of a whole database: every write sets the last sequence.
func readStates(db *DB) listeners.Read {
	return func(ctx context.Context, since []byte) (s listeners.State, err error) {
		err = db.view(ctx, func(d *dbRead) error {
			s = listeners.State{UUID: d.Rec.UUID, Key: d.Keys.Sub(nil, keyspace.TagLastSeq)}
			v, err := d.R.Get(s.Key)
			if s.Value = bytes.Clone(v); err != nil || since == nil || !d.Rec.Access.On {
				return err
			}
			seq, err := keyspace.ParseSeq(since)
			if err != nil {
				return err
			}
			heads := func(ids []string) ([][]formats.Leaf, error) { return d.LeavesEach(ids, true) }
			s.Named, err = d.index().Named(d.R, seq, heads)
			return err
		})
		return s, err
	}
}
