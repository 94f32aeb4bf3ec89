package rank

import (
	"bytes"
	"slices"
	"sort"
)

// Batch collects changes of rows, in any order.
type Batch struct{ rows []row }

type row struct {
	key   []byte
	delta Weight
}

// goes tells that the row is removed.
func (r row) goes() bool { return r.delta.Rows < 0 }

// Add notes that a row comes (Rows 1), goes (-1), or changes its weight or nothing but its value. A
// key may come several times. It is without the prefix of the rows.
func (b *Batch) Add(key []byte, delta Weight) { b.rows = append(b.rows, row{bytes.Clone(key), delta}) }

// Deltas are changes of rows that the weights of an index do not have yet: net of each key, in
// order. The zero value has none.
type Deltas struct {
	rows []row
	sums []Weight // of all rows before each one, and of all
}

// Deltas gives what was collected and forgets it.
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

// Of is the change of one key.
func (d *Deltas) Of(key []byte) Weight {
	if d == nil {
		return Weight{}
	}
	if i := d.at(key); i < len(d.rows) && bytes.Equal(d.rows[i].key, key) {
		return d.rows[i].delta
	}
	return Weight{}
}
