package views

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/levels"
	"github.com/settee-db/settee/views/reduce"
)

// groupQuery is the state of a reduce query that lasts from one snapshot to the next.
type groupQuery struct {
	started bool
	done    bool // all groups are in the batch
	query   levels.Query
	next    func() (ejson.Value, bool) // the `keys` of a query with some
	keys    [][]byte                   // those that were taken and are not done, as the client wrote them
	ranges  []levels.Range             // of those
}

// keysTogether is how many of `keys` are reduced together.
const keysTogether = 256

// manyStale is the number of stale aggregates that a query may meet before they are made anew in
// the background.
const manyStale = 8

// serveGroups gives the rows of a reduce query that are left.
func (q *query) serveGroups(ctx context.Context, s *storage.Snapshot, ix *index) error {
	if !q.begun {
		h := Head{Reduced: true}
		if ix != nil {
			q.number = ix.rec.number
		}
		if err := q.headSeq(s, ix, &h); err != nil {
			return err
		}
		q.begun = true
		if err := q.sink.Head(&h); err != nil {
			return err
		}
	}
	if err := q.batch.flush(s, q.sink); err != nil || ix == nil {
		return err
	}
	if err := q.w.v.aggregates.readCached(s, ix); err != nil {
		return err
	}
	x, slot, err := q.slot(ix)
	if err != nil {
		return err
	}
	g := &q.groups
	if !g.started {
		q.startGroups()
	}
	g.query.RowsOnly = slot.Number == 0
	switch {
	case g.done:
	case q.asked.Keys.Kind() == ejson.Array:
		err = q.serveKeys(ctx, s, ix, x, slot)
	default:
		err = x.Reduce(ctx, s.KV(), slot, &g.query, func(group *levels.Group) error {
			return q.addGroup(s, group.Key, &group.Value)
		})
	}
	if err != nil {
		return err
	}
	if !g.done && ix.rec.levels {
		q.w.v.aggregates.states.gave(ix, q.given)
	}
	g.done = true
	if err := q.batch.flush(s, q.sink); err != nil || g.query.Stale <= manyStale {
		return err
	}
	return q.w.v.flights.refreshSoon(q.w.v.flights.ctx, q.w.db, q.w.design, q.w.uuid)
}

// slot gives the levels and the reduce function; its number is 0 if the levels do not have it.
func (q *query) slot(ix *index) (*levels.Index, levels.Slot, error) {
	x, err := q.w.v.aggregates.levels(ix)
	if err != nil {
		return nil, levels.Slot{}, err
	}
	source := q.w.def.reduce
	if q.asked.Fields {
		source = reduce.Fields
	}
	number := ix.rec.slot(source)
	if number != 0 && ix.rec.levels {
		for _, s := range x.Slots {
			if s.Number == number {
				return x, s, nil
			}
		}
	}
	f, err := q.w.v.aggregates.function(ix.tenant, source)
	return x, levels.Slot{Func: f}, err
}

// startGroups makes the ranges of the query.
func (q *query) startGroups() {
	g := &q.groups
	g.started = true
	if q.asked.Keys.Kind() != ejson.Array {
		for sp := range q.w.definition().ranges().Each(q.asked) {
			sp = q.place(sp)
			g.query = levels.Query{
				Start: sp.Lo, End: sp.Hi, Descending: q.asked.Descending,
				Level: int(q.asked.GroupLevel), Skip: q.skip, Limit: q.limit, View: q.w.path(),
			}
		}
		return
	}
	g.query = levels.Query{Descending: q.asked.Descending, View: q.w.path()}
	keys := q.asked.Keys.Children() // in the client's order, whatever the direction
	if q.asked.Partition != "" {    // CouchDB gives no rows there
		keys = ejson.Cursor{}
	}
	g.next = keys.Next
}

// serveKeys gives the rows of a query with `keys`.
func (q *query) serveKeys(
	ctx context.Context, s *storage.Snapshot, ix *index, x *levels.Index, slot levels.Slot,
) error {
	g := &q.groups
	for q.limit > 0 {
		for len(g.keys) < keysTogether {
			key, more := g.next()
			if !more {
				break
			}
			g.keys = append(g.keys, key.AppendJSON(nil))
			sp := q.place(q.w.definition().ranges().At(q.asked, key))
			g.ranges = append(g.ranges, levels.Range{Start: sp.Lo, End: sp.Hi})
		}
		if len(g.keys) == 0 {
			break
		}
		if err := q.serveSomeKeys(ctx, s, ix, x, slot); err != nil {
			return err
		}
	}
	return nil
}

// keyGroup is the group of one of the keys at hand.
type keyGroup struct {
	number int    // of its key
	key    []byte // as it is shown
	value  reduce.Value
}

// serveSomeKeys gives the rows of the keys at hand. Those that are in the batch count as given,
// even if it cannot be given to the sink now.
func (q *query) serveSomeKeys(
	ctx context.Context, s *storage.Snapshot, ix *index, x *levels.Index, slot levels.Slot,
) error {
	g := &q.groups
	var groups []keyGroup
	add := func(i int, group *levels.Group) error {
		groups = append(groups, keyGroup{number: i, key: g.keys[i], value: group.Value})
		return nil
	}
	if err := x.ReduceRanges(ctx, s.KV(), slot, g.query, g.ranges, add); err != nil {
		return err
	}
	skipped := min(q.skip, int64(len(groups)))
	groups = groups[skipped:]
	groups = groups[:min(q.limit, int64(len(groups)))]
	if q.asked.StoredKeys {
		if err := q.storedKeys(s, ix, groups); err != nil {
			return err
		}
	}
	q.skip -= skipped
	done, err := len(g.ranges), error(nil)
	for i := range groups {
		q.limit--
		if err = q.addGroup(s, groups[i].key, &groups[i].value); err != nil {
			done = groups[i].number + 1
			break
		}
	}
	g.keys, g.ranges = g.keys[done:], g.ranges[done:]
	return err
}

// storedKeys gives groups the keys of their first rows in reading direction
// (fabric_view:reduce_take of CouchDB 3.6): one read a group, as many at a time as the store takes
// together.
func (q *query) storedKeys(s *storage.Snapshot, ix *index, groups []keyGroup) error {
	for some := range slices.Chunk(groups, max(1, min(prefetchedSpans, q.w.v.opts.together()))) {
		opened := make([]kv.Iterator, len(some))
		for i, group := range some {
			r := q.groups.ranges[group.number]
			o := kv.RangeOptions{Limit: 1, Reverse: q.asked.Descending}
			opened[i] = ix.rows(s.KV(), span{Lo: r.Start, Hi: r.End}, o)
		}
		var err error
		for i, it := range opened {
			if err == nil && it.Next() {
				var r storedRow
				r, err = parseRow(it.Key()[len(ix.keys.rows):], it.Value())
				some[i].key = bytes.Clone(r.key)
			}
			err = cmp.Or(err, it.Err())
			it.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addGroup puts a row into the batch. Its memory stays valid.
func (q *query) addGroup(s *storage.Snapshot, key []byte, value *reduce.Value) error {
	r := Row{Key: key, Value: value.JSON}
	if value.Overflow != "" {
		r = Row{Key: []byte("null"), Err: overflow(value.Overflow)}
	}
	q.given++
	q.batch.rows = append(q.batch.rows, r)
	if q.batch.full() {
		return q.batch.flush(s, q.sink)
	}
	return nil
}
