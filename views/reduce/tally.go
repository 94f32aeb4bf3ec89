package reduce

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
)

// Tally reduces rows without keeping them, where they are only counted, or have values that are
// integers of 64 bits. The zero Tally has no rows.
type Tally struct {
	Rows, Sum       int64
	lowest, highest int64
	squares         wide
	inexact         bool // the function's result is another one
}

// wide is a number of 128 bits: the sum of the squares of times in milliseconds is one.
type wide struct{ high, low uint64 }

// addSquare adds the square of n; ok is false where that is too much.
func (w *wide) addSquare(n int64) (ok bool) {
	u := uint64(n)
	if n < 0 {
		u = -u
	}
	high, low := bits.Mul64(u, u)
	var carry uint64
	w.low, carry = bits.Add64(w.low, low, 0)
	w.high, carry = bits.Add64(w.high, high, carry)
	return carry == 0
}

func (w wide) number() number {
	if w.high == 0 && w.low <= math.MaxInt64 {
		return intNumber(int64(w.low))
	}
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 16), w.high)
	return bigNumber(new(big.Int).SetBytes(binary.BigEndian.AppendUint64(b, w.low)))
}

// Tallied reports whether functions of a kind have aggregates of a Tally.
func (k Kind) Tallied() bool { return k == KindCount || k == KindSum || k == KindStats }

// Add adds a row with a value to the tally for functions of a kind.
func (t *Tally) Add(k Kind, value []byte) {
	t.Rows++
	if k == KindCount || t.inexact {
		return
	}
	n, ok := SmallInt(value)
	if !ok || k == KindStats && !t.addStat(n) {
		t.inexact = true
		return
	}
	s := t.Sum + n
	t.inexact = (s > t.Sum) != (n > 0)
	t.Sum = s
}

// addStat adds the parts of _stats besides the sum.
func (t *Tally) addStat(n int64) bool {
	if t.Rows == 1 {
		t.lowest, t.highest = n, n
	}
	t.lowest, t.highest = min(t.lowest, n), max(t.highest, n)
	return t.squares.addSquare(n)
}

// Miss adds a row whose value is not looked at: the tally is not exact.
func (t *Tally) Miss() { t.Rows++; t.inexact = true }

// Exact reports whether the tally is what a function of a kind makes of the rows.
func (t *Tally) Exact(k Kind) bool { return k == KindCount || k.Tallied() && !t.inexact }

// Aggregate is the aggregate of a function of a kind for which the tally is exact; it has a row.
func (t *Tally) Aggregate(k Kind) Aggregate {
	switch k {
	case KindCount:
		return CountAggregate(t.Rows)
	case KindSum:
		return CountAggregate(t.Sum)
	}
	s := t.stat()
	return s.appendAggregate(make([]byte, 0, usualStat))
}

func (t *Tally) stat() stat {
	return stat{
		leaf: t.Rows > 0, sum: intNumber(t.Sum), count: intNumber(t.Rows),
		min: intNumber(t.lowest), max: intNumber(t.highest), squares: t.squares.number(),
	}
}
