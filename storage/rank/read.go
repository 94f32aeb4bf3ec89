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
	var total Weight
	for ; n >= 1; n-- {
		sum, last, err := x.sumStretches(r, n, from, to)
		if err != nil {
			return Weight{}, err
		}
		total = total.Add(sum)
		from = last
	}
	rows, err := x.scan(r, from, to, all)
	return total.Add(rows), err
}

// sumStretches adds up the weights on level n from the boundary from up to the last settled boundary before to, which
// it returns.
func (x *Index) sumStretches(r kv.ReadTx, n int, from, to []byte) (sum Weight, last []byte, err error) {
	last = from
	level := x.level(n)
	var stretch Weight // since last
	var own []byte     // memory of last, as from is the caller's
	it := r.Range(concat(level, from), rangeEnd(level, to), kv.RangeOptions{WantAll: true})
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

// Scan weighs the rows with from <= row < to by reading them; a nil to is open.
func (x *Index) Scan(r kv.ReadTx, from, to []byte) (w Weight, err error) {
	return x.scan(r, from, to, true)
}

func (x *Index) scan(r kv.ReadTx, from, to []byte, all bool) (w Weight, err error) {
	it := r.Range(concat(x.Rows, from), x.rowsEnd(to), kv.RangeOptions{WantAll: true})
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
