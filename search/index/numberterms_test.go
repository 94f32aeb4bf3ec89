package index

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// oracleNumberTerms are the terms that Lucene 4 makes of a number, in digits of two: sixteen, each
// four bits shorter.
func oracleNumberTerms(v float64) (terms []string) {
	bits := fmt.Sprintf("%064b", math.Float64bits(v))
	if bits[0] == '0' {
		bits = "1" + bits[1:]
	} else {
		bits = strings.Map(func(r rune) rune { return '0' + '1' - r }, bits)
	}
	for n := 64; n > 0; n -= 4 {
		digits := bits[:n]
		for len(digits)%7 != 0 {
			digits = "0" + digits
		}
		term := string(rune(' ' + 64 - n))
		for ; digits != ""; digits = digits[7:] {
			c, _ := strconv.ParseUint(digits[:7], 2, 7)
			term += string(rune(c))
		}
		terms = append(terms, term)
	}
	return terms
}

// termField is a field of words or of numbers, whose terms begin with a blank to a backslash.
func (g generator) termField() string { return []string{g.field(), "n", "x"}[g.IntN(3)] }

// end is an end of a range, or a prefix: a word, what is near a first byte of numbers' terms, or a
// piece of one.
func (g generator) end() string {
	terms := oracleNumberTerms(float64(g.IntN(8)) / 2)
	term := terms[g.IntN(len(terms))]
	switch g.IntN(5) {
	case 0:
		return g.word()
	case 1:
		return ""
	case 2:
		return string([]byte{term[0] + byte(g.IntN(3)) - 1})
	case 3:
		return term[:1+g.IntN(len(term))]
	}
	return term + "x"
}
