package rank

import (
	"encoding/binary"
	"math/bits"

	"github.com/settee-db/settee/storage/kv"
)

// Weight is what rows weigh together: their number, the sum of a number of each, and how many of
// them have none.
type Weight struct {
	// How many rows, and the sum of those whose value is a 64-bit integer.
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
	// Two's complement: Hi has the sign, Lo the lower 64 bits.
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

// A weight is stored as one little-endian integer, Rows + Sum·2^64 + Rest·2^192: a negative sum
// borrows one from what is above it. Where rows are only counted it is the lowest 8 bytes.
const (
	narrowSize = 8
	wideSize   = 32
)

// Parse reads a stored weight; no value is none.
func Parse(value []byte) (w Weight) {
	var buf [wideSize]byte
	copy(buf[:], value)
	w.Rows = int64(binary.LittleEndian.Uint64(buf[:]))
	if len(value) > narrowSize {
		w.Sum = Int128{int64(binary.LittleEndian.Uint64(buf[16:])), binary.LittleEndian.Uint64(buf[8:])}
		w.Rest = int64(binary.LittleEndian.Uint64(buf[24:]))
		if w.Sum.Hi < 0 {
			w.Rest++
		}
	}
	return w
}

// put stores a weight.
func (x *Index) put(tx kv.Tx, key []byte, w Weight) {
	buf := binary.LittleEndian.AppendUint64(make([]byte, 0, wideSize), uint64(w.Rows))
	if x.wide() {
		rest := w.Rest
		if w.Sum.Hi < 0 {
			rest--
		}
		buf = binary.LittleEndian.AppendUint64(buf, w.Sum.Lo)
		buf = binary.LittleEndian.AppendUint64(buf, uint64(w.Sum.Hi))
		buf = binary.LittleEndian.AppendUint64(buf, uint64(rest))
	}
	tx.Set(key, buf)
}
