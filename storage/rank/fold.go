package rank

import (
	"bytes"
	"slices"
	"sort"

	"github.com/settee-db/settee/storage/kv"
)

// Deltas are changes of rows that the weights of an index do not have yet: net of each key, in order. The zero value
// has none.
type Deltas struct {
	rows []row
	sums []Weight // of all rows before each one, and of all
}

// Deltas gives what was collected and forgets it. Here a key may have been added several times.
func (b *Batch) Deltas() *Deltas {
	rows := b.rows
	b.rows = nil
	slices.SortStableFunc(rows, func(a, c row) int { return bytes.Compare(a.key, c.key) })
	net := rows[:0]
	for from := 0; from < len(rows); {
		r := rows[from]
		for from++; from < len(rows) && bytes.Equal(rows[from].key, r.key); from++ {
			r.delta = r.delta.Add(rows[from].delta)
		}
		if r.delta != (Weight{}) {
			net = append(net, r)
		}
	}
	d := &Deltas{rows: net, sums: make([]Weight, len(net)+1)}
	for i := range net {
		d.sums[i+1] = d.sums[i].Add(net[i].delta)
	}
	return d
}

// Between is the weight of the changes with from <= key < to; a nil to is open.
func (d *Deltas) Between(from, to []byte) Weight {
	if d == nil || len(d.rows) == 0 {
		return Weight{}
	}
	end := len(d.rows)
	if to != nil {
		end = d.at(to)
	}
	return d.sums[end].Sub(d.sums[min(d.at(from), end)])
}

// at is the number of changes with lower keys.
func (d *Deltas) at(key []byte) int {
	return sort.Search(len(d.rows), func(i int) bool { return bytes.Compare(d.rows[i].key, key) >= 0 })
}

// of is the change of one key.
func (d *Deltas) of(key []byte) Weight {
	if d == nil {
		return Weight{}
	}
	if i := d.at(key); i < len(d.rows) && bytes.Equal(d.rows[i].key, key) {
		return d.rows[i].delta
	}
	return Weight{}
}

// BeforePlus is Before for an index that is folded: rest are the changes that it does not have yet, of the same
// snapshot.
func (x *Index) BeforePlus(r kv.ReadTx, key []byte, rest *Deltas) (Weight, error) {
	w, from, err := x.BeforeFolded(r, key)
	return w.Add(rest.Between(nil, from)), err
}

// BeforeFolded is BeforePlus but for the changes before a key, which it returns.
func (x *Index) BeforeFolded(r kv.ReadTx, key []byte) (w Weight, from []byte, err error) {
	w, from, err = x.betweenBy(r, len(x.Levels), nil, key, true)
	return w, append([]byte{}, from...), err // not nil, which would be after all changes
}

// SelectWith is Select for an index that is folded; see BeforePlus.
func (x *Index) SelectWith(r kv.ReadTx, n int64, rest *Deltas) ([]byte, error) {
	if rest == nil {
		return x.Select(r, n)
	}
	if n < 0 {
		return nil, nil
	}
	from, to := []byte{}, []byte(nil)
	for level := len(x.Levels); level >= 1; level-- {
		var err error
		if from, to, n, err = x.selectFolded(r, level, from, to, n, rest); err != nil {
			return nil, err
		}
	}
	return x.selectRow(r, from, to, n)
}

// selectFolded finds the stretch on level n, between the boundaries first and next, that has the row with left rows
// before it, counted from from on; and how many of those are in the stretch.
func (x *Index) selectFolded(
	r kv.ReadTx,
	n int,
	from, to []byte,
	left int64,
	rest *Deltas,
) (first, next []byte, within int64, err error) {
	level := x.level(n)
	first = from
	var stored int64 // rows of the stretch of first
	it := r.Range(concat(level, from), rangeEnd(level, to), kv.RangeOptions{})
	defer it.Close()
	for it.Next() {
		key := it.Key()[len(level):]
		if !bytes.Equal(key, first) {
			rows := stored + rest.Between(first, key).Rows
			if left < rows {
				return first, bytes.Clone(key), left, nil
			}
			left -= rows
			first, stored = bytes.Clone(key), 0
		}
		weight, _ := Parse(it.Value())
		stored += weight.Rows
	}
	return first, to, left, it.Err()
}

// Fold takes changes into the weights; rest are those that the snapshot of the transaction has as well, and that stay
// for later. Whoever calls it must be alone with the index: of two transactions that fold the same one only one may
// commit. It declares no conflicts of its own.
//
// Rows that go are folded first: then no boundary goes while others are opened before it.
func (x *Index) Fold(tx kv.Tx, deltas, rest *Deltas) error {
	var going, others []row
	for _, r := range deltas.rows {
		if r.goes() {
			going = append(going, r)
		} else {
			others = append(others, r)
		}
	}
	for _, rows := range [][]row{going, others} {
		for n := range x.Levels { // a level's new weights come from the one below as it is then
			if err := x.foldLevel(tx, n+1, rows, rest); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *Index) foldLevel(tx kv.Tx, n int, rows []row, rest *Deltas) error {
	keys := make([][]byte, len(rows))
	for i := range rows {
		keys[i] = rows[i].key
	}
	level := x.level(n)
	floors, err := Floors(tx.Snapshot(), level, keys)
	if err != nil {
		return err
	}
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && bytes.Equal(floors[to].Key, floors[from].Key) {
			to++
		}
		if err := x.foldStretch(tx, n, floors[from], rows[from:to], rest); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// foldStretch takes the changes of rows between a boundary and the next one into the weights, opens boundaries at those
// that reach the level, and takes the boundary away if its row goes: its weight goes to the one before.
func (x *Index) foldStretch(tx kv.Tx, n int, bound Floor, rows []row, rest *Deltas) error {
	level := x.level(n)
	weight, _ := Parse(bound.Value)
	var opened [][]byte
	for i := range rows {
		weight = weight.Add(rows[i].delta)
		if x.opens(n, &rows[i], bound.Key) {
			opened = append(opened, rows[i].key)
		}
	}
	if len(opened) > 0 {
		weights, err := x.weighOpened(tx.Snapshot(), n, opened, rest)
		if err != nil {
			return err
		}
		for i, key := range opened {
			weight = weight.Sub(weights[i])
			x.put(tx, concat(level, key), 0, weights[i])
		}
	}
	if len(bound.Key) == 0 || !rows[0].goes() || !bytes.Equal(rows[0].key, bound.Key) {
		x.put(tx, concat(level, bound.Key), 0, weight)
		return nil
	}
	tx.Clear(concat(level, bound.Key))
	before, err := Floors(tx.Snapshot(), level, [][]byte{bound.Key})
	if err != nil {
		return err
	}
	stored, _ := Parse(before[0].Value)
	x.put(tx, concat(level, before[0].Key), 0, stored.Add(weight))
	return nil
}

// weighOpened weighs the rows from each new boundary of a stretch to the next one, as they are without rest: on level 1
// by reading them, on others by the weights below, where all of these are boundaries by now.
func (x *Index) weighOpened(r kv.ReadTx, n int, opened [][]byte, rest *Deltas) ([]Weight, error) {
	level, last := x.level(n), opened[len(opened)-1]
	next, err := x.boundAfter(r, level, last)
	if err != nil {
		return nil, err
	}
	prefix := x.Rows
	if n > 1 {
		prefix = x.level(n - 1)
	}
	weights := make([]Weight, len(opened))
	it := r.Range(concat(prefix, opened[0]), rangeEnd(prefix, next), kv.RangeOptions{WantAll: true})
	defer it.Close()
	at := 0
	for it.Next() {
		key := it.Key()[len(prefix):]
		for at+1 < len(opened) && bytes.Compare(opened[at+1], key) <= 0 {
			at++
		}
		w := Weight{Rows: 1}
		switch {
		case n > 1:
			w, _ = Parse(it.Value())
		case x.wide():
			if w, err = x.Weigh(key, it.Value()); err != nil {
				return nil, err
			}
		}
		weights[at] = weights[at].Add(w)
	}
	if n == 1 {
		for i, key := range opened {
			end := next
			if i+1 < len(opened) {
				end = opened[i+1]
			}
			weights[i] = weights[i].Sub(rest.Between(key, end))
		}
	}
	return weights, it.Err()
}

// boundAfter finds the first boundary after a key, nil if there is none.
func (x *Index) boundAfter(r kv.ReadTx, level, key []byte) ([]byte, error) {
	it := r.Range(kv.AppendKeyAfter(nil, concat(level, key)), rangeEnd(level, nil), kv.RangeOptions{Limit: 1})
	defer it.Close()
	if !it.Next() {
		return nil, it.Err()
	}
	return bytes.Clone(it.Key()[len(level):]), nil
}

// Floor is a stored key, without its prefix, and its value.
type Floor struct{ Key, Value []byte }

// Floors finds for each of some keys, which ascend, the last one stored below a prefix that is not after it; the empty
// key without a value where there is none. Keys that lie close together are found with one range, others by themselves.
func Floors(r kv.ReadTx, prefix []byte, keys [][]byte) ([]Floor, error) {
	found := make([]Floor, 0, len(keys))
	if len(keys) == 0 {
		return found, nil
	}
	found, err := seekFloors(r, prefix, keys[:1], found)
	if err != nil || len(keys) == 1 {
		return found, err
	}
	limit := boundsPerRow * len(keys)
	last := found[0]
	begin := kv.AppendKeyAfter(nil, concat(prefix, last.Key))
	end := kv.AppendKeyAfter(nil, concat(prefix, keys[len(keys)-1]))
	it := r.Range(begin, end, kv.RangeOptions{Limit: limit, WantAll: true})
	defer it.Close()
	read := 0
	for ; it.Next(); read++ {
		next := Floor{bytes.Clone(it.Key()[len(prefix):]), bytes.Clone(it.Value())}
		for len(found) < len(keys) && bytes.Compare(keys[len(found)], next.Key) < 0 {
			found = append(found, last)
		}
		last = next
	}
	if err := it.Err(); err != nil {
		return nil, err
	}
	if read < limit {
		for len(found) < len(keys) {
			found = append(found, last)
		}
	}
	return seekFloors(r, prefix, keys[len(found):], found)
}

// seekFloors finds each one by itself, and appends it to found.
func seekFloors(r kv.ReadTx, prefix []byte, keys [][]byte, found []Floor) ([]Floor, error) {
	for part := range slices.Chunk(keys, seeksAtOnce) {
		its := make([]kv.Iterator, len(part))
		for i, key := range part {
			end := kv.AppendKeyAfter(nil, concat(prefix, key))
			its[i] = r.Range(prefix, end, kv.RangeOptions{Limit: 1, Reverse: true})
		}
		var failure error
		for _, it := range its {
			f := Floor{Key: []byte{}}
			if failure == nil && it.Next() {
				f = Floor{bytes.Clone(it.Key()[len(prefix):]), bytes.Clone(it.Value())}
			}
			found = append(found, f)
			if err := it.Close(); failure == nil {
				failure = err
			}
		}
		if failure != nil {
			return nil, failure
		}
	}
	return found, nil
}
