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

// Each calls fn for the changes, in the order of their keys.
func (d *Deltas) Each(fn func(key []byte, w Weight)) {
	for i := range d.rows {
		fn(d.rows[i].key, d.rows[i].delta)
	}
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

// BeforeFolded is Before for an index that is folded, but for the changes before a key that it does not have yet; it
// returns that key. BeforeWith has them.
func (x *Index) BeforeFolded(r kv.ReadTx, key []byte) (w Weight, from []byte, err error) {
	w, from, err = x.betweenBy(r, len(x.Levels), nil, key, true)
	return w, append([]byte{}, from...), err // not nil, which would be after all changes
}

// SelectWith is Select for an index that is folded; see BeforeWith.
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
		keys := make([][]byte, len(rows))
		for i := range rows {
			keys[i] = rows[i].key
		}
		floors, err := FloorsOf(tx.Snapshot(), x.Levels, keys)
		if err != nil {
			return err
		}
		for n := range x.Levels { // a level's new weights come from the one below as it is then
			if err := x.foldLevel(tx, n+1, rows, floors[n], rest); err != nil {
				return err
			}
		}
	}
	return nil
}

// folded is a stretch under the hands of Fold: the changes of rows between a boundary and the next one.
type folded struct {
	bound  Floor
	rows   []row
	opened [][]byte // rows that become boundaries
	next   []byte   // the first boundary after them, nil if there is none
	gained []Weight // of the rows from each of opened to the next one
}

func (x *Index) foldLevel(tx kv.Tx, n int, rows []row, floors []Floor, rest *Deltas) error {
	var stretches []folded
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && bytes.Equal(floors[to].Key, floors[from].Key) {
			to++
		}
		s := folded{bound: floors[from], rows: rows[from:to]}
		for i := range s.rows {
			if x.opens(n, &s.rows[i], s.bound.Key) {
				s.opened = append(s.opened, s.rows[i].key)
			}
		}
		stretches, from = append(stretches, s), to
	}
	if err := x.weighOpened(tx.Snapshot(), n, stretches, rest); err != nil {
		return err
	}
	for i := range stretches {
		if err := x.foldStretch(tx, n, &stretches[i]); err != nil {
			return err
		}
	}
	return nil
}

// foldStretch takes the changes of a stretch into the weights, opens boundaries, and takes the stretch's own away if
// its row goes: its weight goes to the one before.
func (x *Index) foldStretch(tx kv.Tx, n int, s *folded) error {
	level := x.level(n)
	weight, _ := Parse(s.bound.Value)
	for i := range s.rows {
		weight = weight.Add(s.rows[i].delta)
	}
	for i, key := range s.opened {
		weight = weight.Sub(s.gained[i])
		x.put(tx, concat(level, key), 0, s.gained[i])
	}
	if len(s.bound.Key) == 0 || !s.rows[0].goes() || !bytes.Equal(s.rows[0].key, s.bound.Key) {
		x.put(tx, concat(level, s.bound.Key), 0, weight)
		return nil
	}
	tx.Clear(concat(level, s.bound.Key))
	before, err := Floors(tx.Snapshot(), level, [][]byte{s.bound.Key})
	if err != nil {
		return err
	}
	stored, _ := Parse(before[0].Value)
	x.put(tx, concat(level, before[0].Key), 0, stored.Add(weight))
	return nil
}

// weighOpened weighs the rows from each new boundary of stretches to the next one, as they are without rest: on level 1
// by reading them, on others by the weights below, where all of these are boundaries by now. Of several stretches at
// once it reads what comes after the last new boundary, and then the rows.
func (x *Index) weighOpened(r kv.ReadTx, n int, stretches []folded, rest *Deltas) error {
	var list []*folded
	for i := range stretches {
		if len(stretches[i].opened) > 0 {
			list = append(list, &stretches[i])
		}
	}
	for part := range slices.Chunk(list, x.atOnce()) {
		if err := x.boundsAfter(r, n, part); err != nil {
			return err
		}
		if err := x.weighSome(r, n, part, rest); err != nil {
			return err
		}
	}
	return nil
}

// boundsAfter finds the boundary after the last new one of each stretch.
func (x *Index) boundsAfter(r kv.ReadTx, n int, list []*folded) error {
	level := x.level(n)
	its := make([]kv.Iterator, len(list))
	for i, s := range list {
		begin := kv.AppendKeyAfter(nil, concat(level, s.opened[len(s.opened)-1]))
		its[i] = r.Range(begin, rangeEnd(level, nil), kv.RangeOptions{Limit: 1})
		defer its[i].Close()
	}
	for i, it := range its {
		if it.Next() {
			list[i].next = bytes.Clone(it.Key()[len(level):])
		}
		if err := it.Err(); err != nil {
			return err
		}
	}
	return nil
}

// weighSome is weighOpened for some stretches, when it is known where they end.
func (x *Index) weighSome(r kv.ReadTx, n int, list []*folded, rest *Deltas) error {
	prefix := x.Rows
	if n > 1 {
		prefix = x.level(n - 1)
	}
	its := make([]kv.Iterator, len(list))
	for i, s := range list {
		its[i] = r.Range(concat(prefix, s.opened[0]), rangeEnd(prefix, s.next), kv.RangeOptions{WantAll: true})
		defer its[i].Close()
	}
	for i, it := range its {
		s := list[i]
		s.gained = make([]Weight, len(s.opened))
		at := 0
		for it.Next() {
			key := it.Key()[len(prefix):]
			for at+1 < len(s.opened) && bytes.Compare(s.opened[at+1], key) <= 0 {
				at++
			}
			w, err := x.weightBelow(n, key, it.Value())
			if err != nil {
				return err
			}
			s.gained[at] = s.gained[at].Add(w)
		}
		if err := it.Err(); err != nil {
			return err
		}
		if n > 1 {
			continue
		}
		for i, key := range s.opened {
			end := s.next
			if i+1 < len(s.opened) {
				end = s.opened[i+1]
			}
			s.gained[i] = s.gained[i].Sub(rest.Between(key, end))
		}
	}
	return nil
}

// Floor is a stored key, without its prefix, and its value.
type Floor struct{ Key, Value []byte }

// Floors finds for each of some keys, which ascend, the last one stored below a prefix that is not after it; the empty
// key without a value where there is none. Keys that lie close together are found with one range, others by themselves.
func Floors(r kv.ReadTx, prefix []byte, keys [][]byte) ([]Floor, error) {
	found, err := FloorsOf(r, [][]byte{prefix}, keys)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// FloorsOf is Floors for several prefixes, which are read together.
func FloorsOf(r kv.ReadTx, prefixes, keys [][]byte) ([][]Floor, error) {
	all := make([][]Floor, len(prefixes))
	if len(keys) == 0 {
		return all, nil
	}
	limit := boundsPerRow * len(keys)
	firsts, others := make([]kv.Iterator, len(prefixes)), make([]kv.Iterator, len(prefixes))
	for i, prefix := range prefixes {
		firsts[i] = askFloor(r, prefix, keys[0])
		defer firsts[i].Close()
		if len(keys) > 1 {
			begin, last := concat(prefix, keys[0]), concat(prefix, keys[len(keys)-1])
			o := kv.RangeOptions{Limit: limit, WantAll: true}
			others[i] = r.Range(kv.AppendKeyAfter(nil, begin), kv.AppendKeyAfter(nil, last), o)
			defer others[i].Close()
		}
	}
	for i, prefix := range prefixes {
		last, err := readFloor(firsts[i], prefix)
		if err != nil {
			return nil, err
		}
		found := append(make([]Floor, 0, len(keys)), last)
		if len(keys) > 1 {
			if found, err = floorsBetween(others[i], prefix, keys, found, limit); err != nil {
				return nil, err
			}
		}
		if all[i], err = seekFloors(r, prefix, keys[len(found):], found); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// floorsBetween appends those of the keys after the first one, as far as the range reaches.
func floorsBetween(it kv.Iterator, prefix []byte, keys [][]byte, found []Floor, limit int) ([]Floor, error) {
	last := found[0]
	read := 0
	for ; it.Next(); read++ {
		next := Floor{bytes.Clone(it.Key()[len(prefix):]), bytes.Clone(it.Value())}
		for len(found) < len(keys) && bytes.Compare(keys[len(found)], next.Key) < 0 {
			found = append(found, last)
		}
		last = next
	}
	for read < limit && len(found) < len(keys) {
		found = append(found, last)
	}
	return found, it.Err()
}

// askFloor asks for the last key that is not after one; readFloor waits for it.
func askFloor(r kv.ReadTx, prefix, key []byte) kv.Iterator {
	return r.Range(prefix, kv.AppendKeyAfter(nil, concat(prefix, key)), kv.RangeOptions{Limit: 1, Reverse: true})
}

func readFloor(it kv.Iterator, prefix []byte) (Floor, error) {
	if it.Next() {
		return Floor{bytes.Clone(it.Key()[len(prefix):]), bytes.Clone(it.Value())}, nil
	}
	return Floor{Key: []byte{}}, it.Err()
}

// seekFloors finds each one by itself, and appends it to found.
func seekFloors(r kv.ReadTx, prefix []byte, keys [][]byte, found []Floor) ([]Floor, error) {
	for part := range slices.Chunk(keys, seeksAtOnce) {
		var err error
		if found, err = seekSome(r, prefix, part, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// seekSome is seekFloors for keys that are asked for together.
func seekSome(r kv.ReadTx, prefix []byte, keys [][]byte, found []Floor) ([]Floor, error) {
	its := make([]kv.Iterator, len(keys))
	for i, key := range keys {
		its[i] = askFloor(r, prefix, key)
		defer its[i].Close()
	}
	for _, it := range its {
		f, err := readFloor(it, prefix)
		if err != nil {
			return nil, err
		}
		found = append(found, f)
	}
	return found, nil
}
