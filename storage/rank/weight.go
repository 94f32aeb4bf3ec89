package rank

import (
	"encoding/binary"
	"math/bits"

	"github.com/settee-db/settee/storage/kv"
)

// Weight is what rows weigh together: their number, the sum of a number of each, and how many of them have none.
type Weight struct {
	Rows int64
	Sum  Int128
	Rest int64 // rows that are not in Sum
}

// Add returns w + v.
func (w Weight) Add(v Weight) Weight {
	return Weight{w.Rows + v.Rows, w.Sum.Add(v.Sum), w.Rest + v.Rest}
}

// Sub returns w - v.
func (w Weight) Sub(v Weight) Weight {
	return Weight{w.Rows - v.Rows, w.Sum.Add(v.Sum.Neg()), w.Rest - v.Rest}
}

// Int128 is a signed integer, Hi·2^64 + Lo, wrapping.
type Int128 struct {
	Hi int64
	Lo uint64
}

// Int returns n as an Int128.
func Int(n int64) Int128 { return Int128{n >> 63, uint64(n)} }

// Add returns a + b.
func (a Int128) Add(b Int128) Int128 {
	lo, carry := bits.Add64(a.Lo, b.Lo, 0)
	hi, _ := bits.Add64(uint64(a.Hi), uint64(b.Hi), carry)
	return Int128{int64(hi), lo}
}

// Neg returns -a.
func (a Int128) Neg() Int128 {
	lo, borrow := bits.Sub64(0, a.Lo, 0)
	hi, _ := bits.Sub64(0, uint64(a.Hi), borrow)
	return Int128{int64(hi), lo}
}

// State is what is to be known of a boundary besides its weight.
type State byte

// The states: a settled boundary has neither bit.
const (
	Settled State = 0
	Open    State = 1 // its weight is right only together with those before, from a settled one on
	Retired State = 2 // its row is gone; likewise, and there is no mark. It may be open, too
)

// A weight is stored as one little-endian integer, so that one atomic addition changes all of it: Rows + Sum·2^64 +
// Rest·2^192, and stateUnit times the State is added. Where rows are only counted it is the lowest 8 bytes.
const (
	stateUnit  = 1 << 60
	narrowSize = 8
	wideSize   = 32
)

// mark is what a state adds to the number of rows.
func (s State) mark() int64 { return int64(s) * stateUnit }

// Parse reads a stored weight and the state of its boundary.
func Parse(value []byte) (w Weight, state State) {
	var buf [wideSize]byte
	copy(buf[:], value)
	w.Rows = int64(binary.LittleEndian.Uint64(buf[:]))
	if len(value) > narrowSize {
		w.Sum = Int128{int64(binary.LittleEndian.Uint64(buf[16:])), binary.LittleEndian.Uint64(buf[8:])}
		w.Rest = int64(binary.LittleEndian.Uint64(buf[24:]))
		// What is negative has borrowed one from what is above it.
		if w.Rows < 0 {
			carried := w.Sum.Add(Int(1))
			if w.Sum == (Int128{-1, 1<<64 - 1}) {
				w.Rest++
			}
			w.Sum = carried
		}
		if w.Sum.Hi < 0 {
			w.Rest++
		}
	}
	state = State((w.Rows+stateUnit/2)/stateUnit) & (Open | Retired)
	if w.Rows < stateUnit/2 {
		state = Settled
	}
	w.Rows -= state.mark()
	return w, state
}

// appendWeight appends the stored form of w, rows counted from mark on.
func (x *Index) appendWeight(dst []byte, mark int64, w Weight) []byte {
	rows := mark + w.Rows
	dst = binary.LittleEndian.AppendUint64(dst, uint64(rows))
	if !x.wide() {
		return dst
	}
	sum, rest := w.Sum, w.Rest
	if sum.Hi < 0 {
		rest--
	}
	if rows < 0 {
		if sum == (Int128{}) {
			rest--
		}
		sum = sum.Add(Int(-1))
	}
	dst = binary.LittleEndian.AppendUint64(dst, sum.Lo)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(sum.Hi))
	return binary.LittleEndian.AppendUint64(dst, uint64(rest))
}

func (x *Index) put(tx kv.Tx, key []byte, mark int64, w Weight) {
	var buf [wideSize]byte
	tx.Set(key, x.appendWeight(buf[:0], mark, w))
}

func (x *Index) add(tx kv.Tx, key []byte, mark int64, w Weight) {
	if mark == 0 && w == (Weight{}) {
		return
	}
	var buf [wideSize]byte
	tx.Atomic(kv.Add, key, x.appendWeight(buf[:0], mark, w))
}
