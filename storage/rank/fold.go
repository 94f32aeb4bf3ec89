package rank

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/storage/kv"
)

// Fold takes changes into the weights. It runs after the rows are written, in the same transaction
// or in a later one; rest are changes that the rows have as well, and that stay for later. Whoever
// calls it must be alone with the index: of two transactions that fold the same one only one may
// commit. It declares no conflicts of its own.
//
// It finds for each level and each of some keys, which ascend, the boundary before it, without those
// that are new or go.
func (x *Index) Fold(tx kv.Tx, deltas, rest *Deltas, keys [][]byte) ([][][]byte, error) {
	all := slices.Clone(keys)
	for i := range deltas.rows {
		all = append(all, deltas.rows[i].key)
	}
	slices.SortFunc(all, bytes.Compare)
	all = slices.CompactFunc(all, bytes.Equal)
	found, err := floorsOf(tx.Snapshot(), x.Levels, all, x.Together)
	if err != nil {
		return nil, err
	}
	asked := make([][][]byte, len(x.Levels))
	for n, floors := range found { // a level's new weights come from the one below as it is then
		l := levelFold{Index: x, tx: tx, n: n + 1, rest: rest, all: all, bounds: boundsOf(floors)}
		for _, rows := range l.apart(deltas.rows) {
			if err := l.fold(rows); err != nil {
				return nil, err
			}
		}
		for _, b := range l.current(len(keys), func(i int) []byte { return keys[i] }) {
			asked[n] = append(asked[n], b.key)
		}
	}
	return asked, nil
}

// levelFold takes changes into the weights of one level. The boundaries were read once, before
// anything was written; bound keeps up what is written since.
type levelFold struct {
	*Index
	tx kv.Tx
	// The level.
	n      int
	rest   *Deltas
	all    [][]byte // the keys of rows that change, and others
	bounds []*bound // before each of all, as they were
}

// apart separates removed rows from the others where boundaries are removed. The removed rows are
// folded first, so that no boundary goes while another one is opened before it.
func (l *levelFold) apart(rows []row) [][]row {
	if !slices.ContainsFunc(rows, func(r row) bool { return r.goes() && l.Height(r.key) >= l.n }) {
		return [][]row{rows}
	}
	var going, others []row
	for _, r := range rows {
		if r.goes() {
			going = append(going, r)
		} else {
			others = append(others, r)
		}
	}
	return [][]row{going, others}
}

// bound is a boundary of a level in memory, while Fold runs. Its weight is what the transaction has
// written so far, so that it is not read again.
type bound struct {
	key    []byte
	weight Weight
	before *bound // the one that has its weight, if its row went
}

// now is the boundary itself, or the one that has taken over its rows.
func (b *bound) now() *bound {
	if b.before != nil {
		return b.before
	}
	return b
}

// boundsOf are the boundaries that were found: the same one where the keys are equal.
func boundsOf(floors []Floor) []*bound {
	bounds := make([]*bound, len(floors))
	for i, f := range floors {
		if i > 0 && bytes.Equal(f.Key, bounds[i-1].key) {
			bounds[i] = bounds[i-1]
		} else {
			bounds[i] = &bound{key: f.Key, weight: Parse(f.Value)}
		}
	}
	return bounds
}

// current gives the boundaries of some of the keys, in order, as they are now.
func (l *levelFold) current(n int, key func(i int) []byte) []*bound {
	list := make([]*bound, n)
	at := 0
	for i := range list {
		for ; !bytes.Equal(l.all[at], key(i)); at++ {
		}
		list[i] = l.bounds[at].now()
	}
	return list
}

// folded is a stretch in memory, while Fold runs: the changes of rows between a boundary and the
// next one.
type folded struct {
	bound  *bound
	rows   []row
	opened [][]byte // rows that become boundaries
	next   []byte   // the first boundary after them, nil if there is none
	gained []Weight // of the rows from each of opened to the next one
}

// fold adds changed rows. Rows between two boundaries are handled together, so that each stored
// count is written once however many rows changed below it.
func (l *levelFold) fold(rows []row) error {
	bounds := l.current(len(rows), func(i int) []byte { return rows[i].key })
	var stretches []folded
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && bounds[to] == bounds[from] {
			to++
		}
		s := folded{bound: bounds[from], rows: rows[from:to]}
		for i := range s.rows {
			if l.opens(l.n, &s.rows[i], s.bound.key) {
				s.opened = append(s.opened, s.rows[i].key)
			}
		}
		stretches, from = append(stretches, s), to
	}
	if err := l.weighOpened(l.tx.Snapshot(), l.n, stretches, l.rest); err != nil {
		return err
	}
	for i := range stretches {
		if err := l.foldStretch(&stretches[i]); err != nil {
			return err
		}
	}
	return nil
}

// foldStretch takes the changes of a stretch into the weights, opens boundaries, and takes the
// stretch's own away if its row goes: its weight goes to the one before.
func (l *levelFold) foldStretch(s *folded) error {
	weight := s.bound.weight
	for i := range s.rows {
		weight = weight.Add(s.rows[i].delta)
	}
	for i, key := range s.opened {
		weight = weight.Sub(s.gained[i])
		l.put(l.tx, concat(l.level(l.n), key), s.gained[i])
	}
	if len(s.bound.key) > 0 && s.rows[0].goes() && bytes.Equal(s.rows[0].key, s.bound.key) {
		l.tx.Clear(concat(l.level(l.n), s.bound.key))
		if err := l.findBefore(s.bound); err != nil {
			return err
		}
		l.set(s.bound.before, s.bound.before.weight.Add(weight))
	} else if weight != s.bound.weight {
		l.set(s.bound, weight)
	}
	return nil
}

// findBefore finds the boundary before one that goes, when those before that go are cleared. If it
// is one of bounds it is the one before in bounds, or has taken over its rows.
func (l *levelFold) findBefore(b *bound) error {
	floors, err := Floors(l.tx.Snapshot(), l.level(l.n), [][]byte{b.key}, l.Together)
	if err != nil {
		return err
	}
	b.before = boundsOf(floors)[0]
	order := func(b *bound, key []byte) int { return bytes.Compare(b.key, key) }
	if at, _ := slices.BinarySearchFunc(l.bounds, b.key, order); at > 0 {
		if known := l.bounds[at-1].now(); bytes.Equal(known.key, b.before.key) {
			b.before = known
		}
	}
	return nil
}

// set gives a boundary its new weight, in memory and in the store.
func (l *levelFold) set(b *bound, weight Weight) {
	b.weight = weight
	l.put(l.tx, concat(l.level(l.n), b.key), weight)
}

// weighOpened weighs the rows from each new boundary of stretches to the next one, as they are
// without rest: on level 1 by reading them, on others by the weights below, where all of these are
// boundaries by now. Of several stretches at once it reads what comes after the last new boundary,
// and then the rows.
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
	defer closeAll(its)
	for i, s := range list {
		begin := kv.AppendKeyAfter(nil, concat(level, s.opened[len(s.opened)-1]))
		its[i] = r.Range(begin, rangeEnd(level, nil), kv.RangeOptions{Limit: 1})
	}
	for i, it := range its {
		if it.Next() {
			list[i].next = bytes.Clone(it.Key()[len(level):])
		}
		if err := it.Close(); err != nil {
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
	defer closeAll(its)
	for i, s := range list {
		its[i] = r.Range(concat(prefix, s.opened[0]), rangeEnd(prefix, s.next), kv.RangeOptions{WantAll: true})
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

// opens reports whether a row becomes a boundary of level n; bound is the one before it.
func (x *Index) opens(n int, r *row, bound []byte) bool {
	return r.delta.Rows > 0 && x.Height(r.key) >= n && !bytes.Equal(r.key, bound)
}

// weightBelow is what level n makes of a row of what is below it: the rows, or the weights of
// another level.
func (x *Index) weightBelow(n int, key, value []byte) (w Weight, err error) {
	switch {
	case n > 1:
		w = Parse(value)
	case x.wide():
		w, err = x.Weigh(key, value)
	default:
		w.Rows = 1
	}
	return w, err
}
