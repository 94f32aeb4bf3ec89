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
// It finds for each level and each of some keys, in order, the boundary before it, without those
// that are new.
func (x *Index) Fold(tx kv.Tx, deltas, rest *Deltas, keys [][]byte) ([][]Floor, error) {
	rows := deltas.rows
	// Where boundaries go, all rows that go are folded first: then none goes while others are
	// opened before it.
	if slices.ContainsFunc(rows, func(r row) bool { return r.goes() && x.Height(r.key) > 0 }) {
		var going, others []row
		for _, r := range rows {
			if r.goes() {
				going = append(going, r)
			} else {
				others = append(others, r)
			}
		}
		if _, err := x.foldRows(tx, going, rest, nil); err != nil {
			return nil, err
		}
		rows = others
	}
	return x.foldRows(tx, rows, rest, keys)
}

func (x *Index) foldRows(tx kv.Tx, rows []row, rest *Deltas, keys [][]byte) ([][]Floor, error) {
	all := slices.Clone(keys)
	for i := range rows {
		all = append(all, rows[i].key)
	}
	slices.SortFunc(all, bytes.Compare)
	all = slices.CompactFunc(all, bytes.Equal)
	found, err := FloorsOf(tx.Snapshot(), x.Levels, all)
	if err != nil {
		return nil, err
	}
	asked := make([][]Floor, len(x.Levels))
	for n, floors := range found { // a level's new weights come from the one below as it is then
		ofRows := make([]Floor, len(rows))
		at := 0
		for i := range rows {
			for ; !bytes.Equal(all[at], rows[i].key); at++ {
			}
			ofRows[i] = floors[at]
		}
		at = 0
		for _, key := range keys {
			for ; !bytes.Equal(all[at], key); at++ {
			}
			asked[n] = append(asked[n], floors[at])
		}
		if err := x.foldLevel(tx, n+1, rows, ofRows, rest); err != nil {
			return nil, err
		}
	}
	return asked, nil
}

// folded is a stretch under the hands of Fold: the changes of rows between a boundary and the next
// one.
type folded struct {
	bound  Floor
	rows   []row
	opened [][]byte // rows that become boundaries
	next   []byte   // the first boundary after them, nil if there is none
	gained []Weight // of the rows from each of opened to the next one
}

// foldLevel adds changed rows to one level. Rows between two boundaries are handled together, so
// that each stored count is read and written once however many rows changed below it.
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

// foldStretch takes the changes of a stretch into the weights, opens boundaries, and takes the
// stretch's own away if its row goes: its weight goes to the one before.
func (x *Index) foldStretch(tx kv.Tx, n int, s *folded) error {
	level := x.level(n)
	stored := Parse(s.bound.Value)
	weight := stored
	for i := range s.rows {
		weight = weight.Add(s.rows[i].delta)
	}
	for i, key := range s.opened {
		weight = weight.Sub(s.gained[i])
		x.put(tx, concat(level, key), s.gained[i])
	}
	if len(s.bound.Key) == 0 || !s.rows[0].goes() || !bytes.Equal(s.rows[0].key, s.bound.Key) {
		if weight != stored {
			x.put(tx, concat(level, s.bound.Key), weight)
		}
		return nil
	}
	tx.Clear(concat(level, s.bound.Key))
	before, err := Floors(tx.Snapshot(), level, [][]byte{s.bound.Key})
	if err != nil {
		return err
	}
	x.put(tx, concat(level, before[0].Key), Parse(before[0].Value).Add(weight))
	return nil
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
