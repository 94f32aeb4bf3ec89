package index

import (
	"bytes"
	"math"

	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

// In an index of Clouseau's kind a number is terms as well, which Lucene 4 makes for a DoubleField:
// its bits in the order of numbers without the last 0, 4, 8, … 60 of them, behind a byte that tells
// how many are missing. A query for terms finds the document by any of them: n:["" TO *] holds for
// all that have a number, n:8* too. (Clouseau asks for numbers only where both ends of a range are
// numbers, ClouseauQueryParser.getRangeQuery.)
const (
	numberStep = 4    // NumericUtils.PRECISION_STEP_DEFAULT
	numberMark = 0x20 // NumericUtils.SHIFT_START_LONG
	numberBits = 64
	numberTerm = 11 // bytes of the longest term
)

// sortable are the bits of a number, in the order of numbers (NumericUtils.doubleToSortableLong).
func sortable(v float64) uint64 {
	// Bits of positive doubles ascend with them, and those of negative ones descend: these are
	// inverted, and the sign of the others is set, which puts them behind.
	b := math.Float64bits(v)
	if b>>(numberBits-1) != 0 {
		return ^b
	}
	return b | 1<<(numberBits-1)
}

// appendNumberTerm appends the term of a number without its last bits: seven of the others in each
// byte (NumericUtils.longToPrefixCodedBytes).
func appendNumberTerm(dst []byte, sortable uint64, missing int) []byte {
	dst = append(dst, byte(numberMark+missing))
	rest := sortable >> missing
	for at := (numberBits - 1 - missing) / 7 * 7; at >= 0; at -= 7 {
		dst = append(dst, byte(rest>>at&0x7F))
	}
	return dst
}

// termTest says which terms a query is for. begins is false for a byte that none of them begins
// with.
type termTest struct {
	begins func(b byte) bool
	holds  func(term []byte) bool
}

// rangeTest is for the terms in a range; its first function may let pass bytes with which no term
// of the range begins, never the other way round.
func rangeTest(n *query.Range) termTest {
	return termTest{
		func(b byte) bool {
			return (n.LowerOpen || n.Lower == "" || b >= n.Lower[0]) &&
				(n.UpperOpen || n.Upper != "" && b <= n.Upper[0])
		},
		func(term []byte) bool {
			return (n.LowerOpen || string(term) > n.Lower || n.LowerInclude && string(term) == n.Lower) &&
				(n.UpperOpen || string(term) < n.Upper || n.UpperInclude && string(term) == n.Upper)
		},
	}
}

func prefixTest(prefix string) termTest {
	return termTest{
		func(b byte) bool { return prefix == "" || prefix[0] == b },
		func(term []byte) bool { return bytes.HasPrefix(term, []byte(prefix)) },
	}
}

// automatonTest makes tests of an automaton for terms of numbers, whose bytes are below 128 and
// stand for characters. The first test, of one byte, sorts out most kinds of terms before any is
// made.
func automatonTest(a automaton) termTest {
	follow := func(term ...byte) int32 {
		state := a.start()
		for _, b := range term {
			if state != dead {
				state = a.step(state, rune(b))
			}
		}
		return state
	}
	return termTest{
		func(b byte) bool { return follow(b) != dead },
		func(term []byte) bool {
			state := follow(term...)
			return state != dead && a.accepts(state)
		},
	}
}

// orNumbers opens what terms opens, and in Clouseau's kind of index the documents that have a
// number with such a term.
func (p *planner) orNumbers(
	field string, terms func(*reading, float32) iterator, test termTest,
) func(*reading, float32) iterator {
	// Which of the sixteen kinds of terms the query can match at all, by their first byte.
	var missing []int
	for n := 0; n < numberBits && p.kind == segment.Clouseau; n += numberStep {
		if test.begins(byte(numberMark + n)) {
			missing = append(missing, n)
		}
	}
	if missing == nil {
		return terms
	}
	return either(terms, numbersThat(field, func(v float64) bool {
		var term [numberTerm]byte
		bits := sortable(v)
		for _, n := range missing {
			if test.holds(appendNumberTerm(term[:0], bits, n)) {
				return true
			}
		}
		return false
	}))
}
