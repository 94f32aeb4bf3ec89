package rank

import (
	"bytes"

	"github.com/settee-db/settee/storage/kv"
)

// BeforeFolded weighs the rows with keys < key as Before does, but for the changes before a key
// that the weights do not have yet; it returns that key.
func (x *Index) BeforeFolded(r kv.ReadTx, key []byte) (w Weight, from []byte, err error) {
	w, from, err = x.between(r, len(x.Levels), nil, key, true)
	return w, append([]byte{}, from...), err // not nil, which would be after all changes
}

// between weighs the rows with from <= row < to with the help of levels up to n, and tells the last
// boundary that it came by; from is empty or a boundary of all these levels, a nil to is after all
// rows. Without all only the number of rows is right.
func (x *Index) between(r kv.ReadTx, n int, from, to []byte, all bool) (total Weight, last []byte, err error) {
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

// sumStretches adds up the weights that it gives of level n, which begin with the boundary from, up
// to the last boundary, which it returns.
func (x *Index) sumStretches(it kv.Iterator, n int, from []byte) (sum Weight, last []byte, err error) {
	last = from
	level := x.level(n)
	var weight Weight // of the rows from last on
	var own []byte    // memory of last, as from is the caller's
	defer it.Close()
	for it.Next() {
		sum = sum.Add(weight)
		own = append(own[:0], it.Key()[len(level):]...)
		last, weight = own, Parse(it.Value())
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

// Select finds the row with exactly n rows before it; nil if there are not so many. rest are the
// changes that the weights do not have yet. The key comes without the prefix.
func (x *Index) Select(r kv.ReadTx, n int64, rest *Deltas) ([]byte, error) {
	if n < 0 {
		return nil, nil
	}
	from, to := []byte{}, []byte(nil)
	for level := len(x.Levels); level >= 1; level-- {
		var err error
		if from, to, n, err = x.selectStretch(r, level, from, to, n, rest); err != nil {
			return nil, err
		}
	}
	return x.selectRow(r, from, to, n)
}

// selectStretch finds the stretch on level n, between the boundaries first and next, that has the
// row with left rows before it, counted from from on; and how many of those are in the stretch.
func (x *Index) selectStretch(
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
		stored += Parse(it.Value()).Rows
	}
	return first, to, left, it.Err()
}

// selectRow finds the row with n rows before it, counted from from on; nil if there is none before
// to.
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
