package collate

import (
	"cmp"

	"github.com/settee-db/settee/compat/ejson"
)

// The kinds in order. They are the first bytes of keys, too: all below is free for ends and
// prefixes, all above for bounds.
const (
	rankNull byte = 0x10 + iota
	rankFalse
	rankTrue
	rankNegative
	rankZero
	rankPositive
	rankString
	rankArray
	rankObject
)

// rank orders values of different kinds; numbers are all of rank rankZero, and what is no value
// comes first.
func rank(v ejson.Value) byte {
	switch v.Kind() {
	case ejson.Null:
		return rankNull
	case ejson.Bool:
		if b, _ := v.Bool(); b {
			return rankTrue
		}
		return rankFalse
	case ejson.Int, ejson.Double:
		return rankZero
	case ejson.String:
		return rankString
	case ejson.Array:
		return rankArray
	case ejson.Object:
		return rankObject
	}
	return 0
}

// Compare orders JSON values as views do: -1, 0 or 1 (couch_ejson_compare:less/2). It is safe for
// concurrent use as long as the values are.
func Compare(a, b ejson.Value) int { return walk(a, b, compareHeads) }

// compareHeads compares scalars; of arrays and objects only the kind.
func compareHeads(a, b ejson.Value) int {
	rankA, rankB := rank(a), rank(b)
	switch {
	case rankA != rankB:
		return cmp.Compare(rankA, rankB)
	case rankA == rankString:
		var bufA, bufB [64]byte
		return CompareStrings(a.TextBytes(bufA[:0]), b.TextBytes(bufB[:0]))
	case rankA == rankZero:
		return compareNumbers(a, b)
	}
	return 0
}

// pair is two arrays or two objects that are compared child by child.
type pair struct{ a, b ejson.Cursor }

// walk compares a and b with heads, and where heads finds two containers equal, their children in
// turn: the one that ends first is less.
func walk(a, b ejson.Value, heads func(a, b ejson.Value) int) int {
	var buf [8]pair
	open := buf[:0]
	for {
		if c := heads(a, b); c != 0 {
			return c
		}
		if a.Len() > 0 || b.Len() > 0 {
			open = append(open, pair{a.Children(), b.Children()})
		}
		for more := false; !more; {
			if len(open) == 0 {
				return 0
			}
			top := &open[len(open)-1]
			var moreB bool
			a, more = top.a.Next()
			b, moreB = top.b.Next()
			switch {
			case more != moreB && more:
				return 1
			case more != moreB:
				return -1
			case !more:
				open = open[:len(open)-1]
			}
		}
	}
}
