package rank

import (
	"bytes"

	"github.com/settee-db/settee/storage/kv"
)

// Before weighs the rows with keys < key; key is without the prefix of the rows, nil is after all.
func (x *Index) Before(r kv.ReadTx, key []byte) (Weight, error) {
	return x.between(r, len(x.Levels), nil, key, true)
}

// between weighs the rows with from <= row < to with the help of levels up to n; from is empty or a settled boundary of
// all these levels, a nil to is after all rows. Without all only their number is right.
func (x *Index) between(r kv.ReadTx, n int, from, to []byte, all bool) (Weight, error) {
	w, _, err := x.betweenBy(r, n, from, to, all)
	return w, err
}

// betweenBy is between, and tells the last boundary that it came by.
func (x *Index) betweenBy(r kv.ReadTx, n int, from, to []byte, all bool) (total Weight, last []byte, err error) {
	asked := x.askBack(r, n, to)
	defer asked.close()
	for ; n >= 1; n-- {
		sum, last, err := x.sumStretches(asked.rangeOf(r, n, x.level(n), from, to), n, from)
		if err != nil {
			return Weight{}, nil, err
		}
		total = total.Add(sum)
		from = last
	}
	rows, err := x.weighRows(asked.rangeOf(r, 0, x.Rows, from, to), all)
	return total.Add(rows), from, err
}

// sumStretches adds up the weights that it gives of level n, which begin with the boundary from, up to the last settled
// boundary, which it returns.
func (x *Index) sumStretches(it kv.Iterator, n int, from []byte) (sum Weight, last []byte, err error) {
	last = from
	level := x.level(n)
	var stretch Weight // since last
	var own []byte     // memory of last, as from is the caller's
	defer it.Close()
	for it.Next() {
		weight, state := Parse(it.Value())
		if state == Settled {
			sum = sum.Add(stretch)
			stretch = Weight{}
			own = append(own[:0], it.Key()[len(level):]...)
			last = own
		}
		stretch = stretch.Add(weight)
	}
	return sum, last, it.Err()
}

// weighRows weighs rows by reading them. Without all only their number is right.
func (x *Index) weighRows(it kv.Iterator, all bool) (w Weight, err error) {
	defer it.Close()
	for it.Next() {
		if !x.wide() || !all {
			w.Rows++
			continue
		}
		row, err := x.Weigh(it.Key()[len(x.Rows):], it.Value())
		if err != nil {
			return w, err
		}
		w = w.Add(row)
	}
	return w, it.Err()
}

// Select finds the row with exactly n rows before it; nil if there are not so many. The key comes without the prefix.
func (x *Index) Select(r kv.ReadTx, n int64) ([]byte, error) {
	if n < 0 {
		return nil, nil
	}
	var from, to []byte
	for level := len(x.Levels); level >= 1; level-- {
		var err error
		if from, to, n, err = x.selectStretch(r, level, from, to, n); err != nil {
			return nil, err
		}
	}
	return x.selectRow(r, from, to, n)
}

// selectRow finds the row with n rows before it, counted from from on; nil if there is none before to.
func (x *Index) selectRow(r kv.ReadTx, from, to []byte, n int64) ([]byte, error) {
	it := r.Range(concat(x.Rows, from), x.rowsEnd(to), kv.RangeOptions{})
	defer it.Close()
	for ; it.Next(); n-- {
		if n == 0 {
			return bytes.Clone(it.Key()[len(x.Rows):]), nil
		}
	}
	return nil, it.Err()
}

// selectStretch finds the stretch on level n, between the settled boundaries first and next, that has the row with left
// rows before it, counted from from on; and how many of those are in the stretch.
func (x *Index) selectStretch(
	r kv.ReadTx,
	n int,
	from, to []byte,
	left int64,
) (first, next []byte, within int64, err error) {
	level := x.level(n)
	first = from
	var stretch int64
	var own []byte // memory of first
	it := r.Range(concat(level, from), rangeEnd(level, to), kv.RangeOptions{})
	defer it.Close()
	for it.Next() {
		weight, state := Parse(it.Value())
		if state == Settled {
			key := it.Key()[len(level):]
			if left < stretch {
				return first, bytes.Clone(key), left, nil
			}
			left -= stretch
			stretch = 0
			own = append(own[:0], key...)
			first = own
		}
		stretch += weight.Rows
	}
	return first, to, left, it.Err()
}
