package views

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/viewquery"
)

// errBehind asks for an update of the index before the query.
var errNeedsCatchUp = errors.New("views: the index lacks changes")

// query is a running query. It can go on in another snapshot when one became too old.
type query struct {
	w      *View
	asked  *viewquery.Query
	sink   Sink
	target storage.Seq // the index has to be at or after it
	waited bool        // target is set
	begun  bool        // the head was given
	number int64       // of the index that the head came from

	next        func() (span, bool) // the ranges of a map query
	stop        func()              // ends next; nil where there is nothing to end
	span        span                // the one at hand
	more        bool                // there is one at hand
	skip, limit int64               // what is left
	last        []byte
	inSpan      bool         // last is the key of the last row taken from span
	given       int64        // rows put into the batch
	opened      []openedSpan // span and those after it, whose rows were asked for in this snapshot
	batch       rowBatch
	direct      RowSink    // takes the rows of a map query one by one; nil: sink takes the batch
	row         Row        // that direct has
	groups      groupQuery // of a reduce query
	own         [][]byte   // prefixes of the rows of the principals asked for that have some
	placed      bool       // own is found
}

// errPartition is a mistake of the caller.
var errPartition = compat.NewError(
	compat.KindQueryParse, "A query asks for a partition if the index is partitioned, and only then.",
)

// Ask is a query of a view, with the sink of its answer.
type Ask func(w *View) (*viewquery.Query, Sink, error)

// Query is View and View.Query in one snapshot: ask is called in between. Errors of the former and
// of ask come as they are.
func (v *Views) Query(ctx context.Context, db *storage.DB, ddocID, name string, ask Ask) error {
	var q *query
	asking := false
	err := db.View(kv.WithPrefetch(ctx, "view "+ddocID+" "+name), func(s *storage.Snapshot) error {
		w, err := v.viewIn(s, db, ddocID, name)
		if err != nil {
			return err
		}
		asking = true
		asked, sink, err := ask(w)
		if err != nil {
			return err
		}
		if q, err = w.begin(asked, sink); err != nil {
			return err
		}
		return q.attempt(ctx, s)
	})
	switch {
	case q != nil:
		return q.finish(ctx, err)
	case asking || !errors.Is(err, kv.ErrTooOld):
		return err
	}
	w, err := v.View(ctx, db, ddocID, name)
	if err != nil {
		return err
	}
	asked, sink, err := ask(w)
	if err != nil {
		return err
	}
	return w.Query(ctx, asked, sink)
}

// Query answers a query. It brings the index up to date first, as asked.Update says.
//
// On the embedded engine all rows are of one snapshot. On a store that limits the age of snapshots
// a query that takes longer goes on in a newer one after the last row given, and may see changes
// made meanwhile.
func (w *View) Query(ctx context.Context, asked *viewquery.Query, sink Sink) error {
	q, err := w.begin(asked, sink)
	if err != nil {
		return err
	}
	return q.finish(ctx, q.again(ctx))
}

// begin makes a query that nothing was read for yet.
func (w *View) begin(asked *viewquery.Query, sink Sink) (*query, error) {
	w, err := w.of(asked)
	if err != nil {
		return nil, err
	}
	if w.Partitioned() != (asked.Partition != "") {
		return nil, errPartition
	}
	if asked.Limit > 0 { // else it is asked for to be built
		storage.IndexUsed(w.db, w.design.id, "view", w.def.name)
	}
	q := &query{w: w, asked: asked, sink: sink, skip: asked.Skip, limit: asked.Limit}
	q.batch.wide = min(wideBatch, w.v.opts.together())
	if !w.Reduces(asked) {
		if direct, ok := sink.(RowSink); ok && direct.OneByOne() {
			q.direct = direct
		}
		if asked.Keys.Kind() == ejson.Array {
			q.next, q.stop = iter.Pull(w.definition().ranges().Each(asked))
			q.span, q.more = q.next()
		} else {
			q.next = func() (span, bool) { return span{}, false }
			q.span, q.more = w.definition().ranges().Only(asked), true
		}
	}
	return q, nil
}

// finish goes on with a query after its first attempt, which ended with err, until it is answered.
func (q *query) finish(ctx context.Context, err error) error {
	if q.stop != nil {
		defer q.stop()
	}
	w, asked := q.w, q.asked
	err = q.run(ctx, err)
	if isUnwanted(err) && !q.begun {
		now, err := w.v.View(ctx, w.db, w.design.id, w.def.name)
		if err == nil {
			now, err = now.of(asked)
		}
		if err != nil {
			return err // gone altogether
		} else if now.design.signature != w.design.signature && now.Reduces(asked) == w.Reduces(asked) {
			return now.Query(ctx, asked, q.sink)
		}
	}
	if err == nil && asked.Update == viewquery.UpdateLazy && asked.Principals == nil {
		_, _, err = w.v.flights.join(ctx, w.db, w.design, w.uuid, false)
	}
	return err
}

// run tries again until the query is through.
func (q *query) run(ctx context.Context, err error) error {
	const maxFailures = 10 // snapshots in a row that were too old for a single row
	var before int64
	for failures := 0; ; {
		switch {
		case errors.Is(err, errNeedsCatchUp):
			if err := q.w.catchUp(ctx, q.target); err != nil {
				return err
			}
		case errors.Is(err, kv.ErrTooOld) && ctx.Err() == nil && failures < maxFailures:
			if failures++; q.given+q.batch.taken > before {
				failures = 0
			} else if err := q.w.v.flights.refreshNow(ctx, q.w.db, q.w.design, q.w.uuid, failures); err != nil {
				return err
			}
		default:
			return err
		}
		before = q.given + q.batch.taken
		err = q.again(ctx)
	}
}

// again is an attempt in a snapshot of its own.
func (q *query) again(ctx context.Context) error {
	return q.w.db.View(ctx, func(s *storage.Snapshot) error { return q.attempt(ctx, s) })
}

// attempt gives what is left of the answer, or as much of it as the snapshot lasts for.
func (q *query) attempt(ctx context.Context, s *storage.Snapshot) error {
	ix, err := q.open(s)
	if err != nil {
		return err
	}
	if !q.begun { // after errors of building, as in couch_mrview_util:get_view
		if err := q.w.definition().ranges().Check(q.asked); err != nil {
			return err
		}
	}
	if err := q.findOwn(s, ix); err != nil {
		return err
	}
	if q.w.Reduces(q.asked) {
		return q.serveGroups(ctx, s, ix)
	}
	return q.serveRows(ctx, s, ix)
}

// open gives the index as the snapshot has it; nil if there is none and the query does without.
func (q *query) open(s *storage.Snapshot) (*index, error) {
	if s.UUID() != q.w.uuid {
		return nil, compat.ErrNoDatabase
	}
	ix, err := readIndex(s, spaceOf(s), q.w.definition())
	if err != nil {
		return nil, err
	}
	if q.begun {
		if ix == nil || ix.rec.number != q.number {
			return nil, kv.ErrTooOld
		}
		return ix, nil
	}
	if q.asked.Update != viewquery.UpdateFirst && q.asked.Principals == nil {
		return ix, nil
	}
	if !q.waited {
		if q.target, err = s.LastSeq(); err != nil {
			return nil, err
		}
	}
	if ix == nil || ix.needsCatchUp(q.target) || !q.waited && !ix.rec.interactive && ix.unchecked() {
		q.waited = true
		return nil, errNeedsCatchUp
	}
	lacking, err := q.w.v.lacking(q.w.db, s, ix)
	// Answers are right without levels, only slower, and as they were without documents that lacked
	// memory; the next one may have them.
	if err == nil && (lacking || !ix.complete()) && !q.waited {
		_, _, err = q.w.v.flights.join(q.w.v.flights.ctx, q.w.db, q.w.design, q.w.uuid, false)
	}
	return ix, err
}

// head gives the sink the head of a map query.
func (q *query) head(s *storage.Snapshot, ix *index) error {
	h := Head{}
	switch {
	case ix != nil && q.asked.Principals != nil:
		q.number = ix.rec.number
		if err := q.ownHead(s, ix, &h); err != nil {
			return err
		}
	case ix != nil:
		q.number = ix.rec.number
		var err error
		if h.TotalRows, err = ix.rowCount(s); err != nil {
			return err
		}
		if err := q.w.v.aggregates.readCached(s, ix); err != nil {
			return err
		}
		if h.Offset, err = q.offset(s, ix, h.TotalRows); err != nil {
			return err
		}
	}
	if err := q.headSeq(s, ix, &h); err != nil {
		return err
	}
	q.begun = true
	return q.sink.Head(&h)
}

// headSeq fills in where the rows last changed, if it is asked for.
func (q *query) headSeq(s *storage.Snapshot, ix *index, h *Head) error {
	if !q.asked.UpdateSeq || ix == nil {
		return nil
	}
	value, err := s.KV().Get(ix.keys.changed)
	if err != nil || value == nil {
		return err
	}
	if h.UpdateSeq.Seq, err = keyspace.ParseSeq(value); err != nil {
		return err
	}
	h.UpdateSeq.N, err = s.Number(h.UpdateSeq.Seq)
	return err
}

func (ix *index) rowCount(s *storage.Snapshot) (int64, error) {
	value, err := s.KV().Get(ix.keys.count(countRows))
	return keyspace.Counter(value), err
}

// offset counts the rows before the first one of the range in reading direction, and those skipped.
func (q *query) offset(s *storage.Snapshot, ix *index, total int64) (int64, error) {
	if !q.more {
		if q.asked.Partition != "" {
			return 0, nil
		}
		return min(q.asked.Skip, total), nil
	}
	first := q.span
	if q.asked.Keys.Len() > 1 { // the first key that has rows, or else the last one
		for first = range q.w.definition().ranges().Each(q.asked) {
			if found, err := ix.hasRows(s, first); err != nil {
				return 0, err
			} else if found {
				break
			}
		}
	}
	before, err := q.before(s, ix, first, total)
	if err != nil {
		return 0, err
	}
	if q.asked.Partition != "" && q.asked.Skip > 0 { // a partition's rows are skipped where they are read
		rows, err := q.w.v.aggregates.count(s.KV(), ix, first)
		return before + min(q.asked.Skip, rows), err
	}
	return min(before+q.asked.Skip, total), nil
}

// before counts the rows before a range in reading direction.
func (q *query) before(s *storage.Snapshot, ix *index, sp span, total int64) (int64, error) {
	if !q.asked.Descending {
		return q.w.v.aggregates.countBefore(s.KV(), ix, sp.Lo)
	}
	if sp.Hi == nil {
		return 0, nil
	}
	n, err := q.w.v.aggregates.countBefore(s.KV(), ix, sp.Hi)
	return total - n, err
}

func (ix *index) hasRows(s *storage.Snapshot, sp span) (bool, error) {
	it := ix.rows(s.KV(), sp, kv.RangeOptions{Limit: 1})
	defer it.Close()
	found := it.Next()
	return found, it.Err()
}

// rows iterates over the stored rows of a range.
func (ix *index) rows(r kv.ReadTx, sp span, o kv.RangeOptions) kv.Iterator {
	base := ix.keys.rows
	lo := append(base[:len(base):len(base)], sp.Lo...)
	hi := append(base[:len(base):len(base)], 0xff)
	if sp.Hi != nil {
		hi = append(base[:len(base):len(base)], sp.Hi...)
	}
	if bytes.Compare(lo, hi) > 0 {
		hi = lo
	}
	return r.Range(lo, hi, o)
}

// prefetchedSpans is how many ranges of a query are asked for together across a network, if it
// wants as many rows: each range is asked for as many of them.
const prefetchedSpans = 64

// openedSpan is a range of rows that was asked for; it is nil of one that a snapshot had asked for
// that became too old.
type openedSpan struct {
	span
	it kv.Iterator
}

// prefetch asks for the rows of the current range and of those after it, if a round trip to the
// store is dear. Rows that are asked for before the head of the answer is made are on their way
// while the head is counted.
func (q *query) prefetch(s *storage.Snapshot, ix *index) {
	together := min(prefetchedSpans, q.w.v.opts.together()) / max(1, len(q.own))
	if together <= 1 || ix == nil || !q.more || q.inSpan || q.skip > 0 || q.limit <= 0 {
		return
	}
	if len(q.opened) == 0 {
		q.opened = append(q.opened, openedSpan{span: q.span})
	}
	if q.opened[0].it != nil {
		return
	}
	for len(q.opened) < together && q.limit >= prefetchedSpans {
		sp, more := q.next()
		if !more {
			break
		}
		q.opened = append(q.opened, openedSpan{span: sp})
	}
	for i := range q.opened {
		if q.opened[i].it == nil {
			q.opened[i].it = q.rows(s.KV(), ix, q.opened[i].span)
		}
	}
}

// closeOpened closes the iterators of the snapshot that ends; the ranges stay, so that the next
// snapshot can open them.
func (q *query) closeOpened() {
	for i := range q.opened {
		if it := q.opened[i].it; it != nil {
			_ = it.Close()
			q.opened[i].it = nil
		}
	}
}

// nextSpan goes on to the next range.
func (q *query) nextSpan() {
	q.inSpan = false
	if len(q.opened) > 0 {
		if it := q.opened[0].it; it != nil {
			_ = it.Close()
		}
		if q.opened = q.opened[1:]; len(q.opened) > 0 {
			q.span, q.more = q.opened[0].span, true
			return
		}
	}
	q.span, q.more = q.next()
}

// rangeOptions are those of a read of rows.
func (q *query) rangeOptions() kv.RangeOptions {
	o := kv.RangeOptions{Reverse: q.asked.Descending}
	if wanted := q.skip + q.limit; !q.asked.Descending && wanted > 0 && wanted < 1<<20 { // the sum may overflow
		o.Limit = int(wanted)
	}
	return o
}

// serveRows gives the rows of a map query that are left.
func (q *query) serveRows(_ context.Context, s *storage.Snapshot, ix *index) error {
	defer q.closeOpened()
	q.prefetch(s, ix)
	if !q.begun {
		if err := q.head(s, ix); err != nil {
			return err
		}
		if q.asked.Unsorted {
			q.skip = 0
		}
	}
	if err := q.batch.flush(s, q.sink); err != nil {
		return err
	}
	if ix == nil {
		return nil
	}
	for q.more && q.limit > 0 {
		if err := q.serveSpan(s, ix); err != nil {
			return err
		}
		q.nextSpan()
	}
	return q.batch.flush(s, q.sink)
}

// serveSpan gives the rows of the range at hand.
func (q *query) serveSpan(s *storage.Snapshot, ix *index) error {
	sp := q.span
	switch {
	case q.inSpan && q.asked.Descending:
		sp.Hi = q.last
	case q.inSpan:
		sp.Lo = kv.AppendKeyAfter(nil, q.last)
	case q.skip > 0 && ix.rec.levels && len(q.own) < 2:
		var err error
		if sp, err = q.skipRows(s, ix, sp); err != nil {
			return err
		}
		q.span = sp
	}
	q.prefetch(s, ix)
	var it kv.Iterator
	if len(q.opened) > 0 && q.opened[0].it != nil {
		it = q.opened[0].it
	} else {
		it = q.rows(s.KV(), ix, sp)
	}
	defer it.Close()
	base := len(ix.keys.rows)
	var group dupGroup
	for q.limit > 0 && it.Next() {
		rowKey := it.Key()[base:]
		r, err := parseRow(rowKey, it.Value())
		if err != nil {
			return err
		}
		if q.asked.Descending {
			done, err := group.add(rowKey, &r)
			if err != nil {
				return err
			}
			if !done {
				continue
			}
		}
		q.last, q.inSpan = append(q.last[:0], q.bare(rowKey)...), true
		if group.single() {
			err = q.take(&r)
		} else {
			err = group.each(q.take)
		}
		if err != nil {
			return err
		}
		// all that q.last stands for is in the batch, which stays if the snapshot is too old for
		// the sink
		if q.batch.full() {
			if err := q.batch.flush(s, q.sink); err != nil {
				return err
			}
		}
	}
	return it.Err()
}

// take handles one row: it skips it, gives it to the sink, or puts it into the batch that waits
// for its document.
func (q *query) take(r *storedRow) error {
	switch {
	case q.skip > 0:
		q.skip--
	case q.limit > 0:
		q.limit--
		q.given++
		if q.direct != nil {
			q.row = Row{ID: r.id, Key: r.key, Value: r.value}
			return q.direct.Row(&q.row)
		}
		q.batch.add(r)
	}
	return nil
}

// skipRows moves the beginning of a range over as many of the rows to be skipped as it has.
func (q *query) skipRows(s *storage.Snapshot, ix *index, sp span) (span, error) {
	rows, err := q.w.v.aggregates.count(s.KV(), ix, sp)
	if err != nil {
		return sp, err
	}
	if rows <= q.skip {
		q.skip -= rows
		return span{Lo: sp.Lo, Hi: append([]byte{}, sp.Lo...)}, nil
	}
	n, err := q.w.v.aggregates.countBefore(s.KV(), ix, sp.Lo)
	if err != nil {
		return sp, err
	}
	if !q.asked.Descending {
		lo, err := q.w.v.aggregates.selectRow(s.KV(), ix, n+q.skip)
		if err == nil {
			sp.Lo, q.skip = lo, 0
		}
		return sp, err
	}
	rowKey, err := q.w.v.aggregates.selectRow(s.KV(), ix, n+rows-q.skip)
	if err != nil {
		return sp, err
	}
	hi, left, err := ix.groupEnd(s.KV(), rowKey)
	if err == nil {
		sp.Hi, q.skip = hi, left
	}
	return sp, err
}
