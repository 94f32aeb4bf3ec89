package rank

import (
	"bytes"
	"sort"

	"github.com/settee-db/settee/storage/kv"
)

// PrefixSums are the weights of all rows before each boundary of one level, in one state of the
// rows. They stay right as long as no row comes, goes or changes. They are not changed once they
// are read.
type PrefixSums struct {
	level int
	keys  []byte // one after the other
	ends  []int  // in keys
	// The weight of the rows before each boundary.
	before []Weight
}

// ReadPrefixSums reads those of a level; nil if there are more boundaries than most. rest are the
// changes that the weights do not have yet; the boundaries whose rows are gone are left out.
func (x *Index) ReadPrefixSums(r kv.ReadTx, level, most int, rest *Deltas) (*PrefixSums, error) {
	p := &PrefixSums{level: level, ends: []int{0}, before: []Weight{{}}} // the empty boundary is before all rows
	prefix := x.level(level)
	it := r.Range(prefix, rangeEnd(prefix, nil), kv.RangeOptions{WantAll: true})
	defer it.Close()
	var sum Weight // of the rows before the boundary
	for it.Next() {
		if key := it.Key()[len(prefix):]; len(key) > 0 && rest.Of(key).Rows >= 0 {
			if len(p.before) == most {
				return nil, nil
			}
			p.keys = append(p.keys, key...)
			p.ends = append(p.ends, len(p.keys))
			p.before = append(p.before, sum.Add(rest.Between(nil, key)))
		}
		sum = sum.Add(Parse(it.Value()))
	}
	return p, it.Err()
}

// Level is the level of the boundaries.
func (p *PrefixSums) Level() int { return p.level }

// Len is the number of boundaries, with the empty one, which comes first.
func (p *PrefixSums) Len() int { return len(p.ends) }

// Key is a boundary, without the prefix of the rows.
func (p *PrefixSums) Key(i int) []byte {
	from := 0
	if i > 0 {
		from = p.ends[i-1]
	}
	return p.keys[from:p.ends[i]:p.ends[i]]
}

// Before weighs the rows before a boundary.
func (p *PrefixSums) Before(i int) Weight { return p.before[i] }

// First is the first boundary at a key or after it, Len if there is none; a nil key is after all.
func (p *PrefixSums) First(key []byte) int {
	if key == nil {
		return p.Len()
	}
	return sort.Search(p.Len(), func(i int) bool { return bytes.Compare(p.Key(i), key) >= 0 })
}

// Before weighs the rows with keys < key; key is without the prefix of the rows, nil is after all.
// p are prefix sums of the state that the snapshot shows, nil is without; rest are the changes that
// the weights do not have yet.
func (x *Index) Before(r kv.ReadTx, p *PrefixSums, key []byte, rest *Deltas) (Weight, error) {
	return x.before(r, p, key, rest, true)
}

// RowsBefore is Before for the number of rows alone.
func (x *Index) RowsBefore(r kv.ReadTx, p *PrefixSums, key []byte, rest *Deltas) (int64, error) {
	w, err := x.before(r, p, key, rest, false)
	return w.Rows, err
}

// before weighs the rows before a key: from the prefix sum of the last cached boundary on, by the
// levels below, with what is not folded yet.
func (x *Index) before(r kv.ReadTx, p *PrefixSums, key []byte, rest *Deltas, all bool) (sum Weight, err error) {
	from, level := []byte{}, len(x.Levels)
	if p != nil {
		bound, found := []byte(nil), false
		if sum, bound, found = p.below(key); found {
			return sum, nil
		}
		from, level = append(from, bound...), p.level-1
	}
	w, last, err := x.between(r, level, from, key, all)
	return sum.Add(w).Add(rest.Between(from, append([]byte{}, last...))), err
}

// below gives the last boundary at a key or before it with its sum; found tells that it is the key.
func (p *PrefixSums) below(key []byte) (sum Weight, bound []byte, found bool) {
	i := p.First(key)
	if key != nil && i < p.Len() && bytes.Equal(p.Key(i), key) {
		return p.before[i], nil, true
	}
	return p.before[i-1], p.Key(i - 1), false // the empty boundary is before all keys
}
