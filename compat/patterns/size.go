package patterns

import "regexp/syntax"

// mostInstructions is where Instructions stops counting.
const mostInstructions = 1 << 40

// Instructions is about how many instructions package regexp makes of a parsed expression: never
// fewer than it makes, and at most 1 << 40. It takes time linear in the tree.
func Instructions(re *syntax.Regexp) int64 { return instructions(re) + 2 }

// instructions bounds how many instructions Go's compiler makes of an expression, by how it writes
// each operator out.
func instructions(re *syntax.Regexp) int64 {
	sum := int64(0)
	for _, sub := range re.Sub {
		sum += instructions(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		sum = int64(len(re.Rune))
	case syntax.OpCapture, syntax.OpStar:
		sum += 2
	case syntax.OpPlus, syntax.OpQuest:
		sum++
	case syntax.OpAlternate:
		sum += int64(len(re.Sub))
	case syntax.OpRepeat: // written out: x{2,4} is xx(x(x)?)?, x{2,} is xx+
		if re.Max < 0 {
			sum = (sum+1)*int64(max(re.Min, 1)) + 1
		} else {
			sum = (sum + 1) * int64(re.Max)
		}
	}
	return min(max(sum, 1), mostInstructions)
}

// unicodeSets is how many sets of characters have as many ranges as only those of Unicode have.
func unicodeSets(re *syntax.Regexp) (n int64) {
	if re.Op == syntax.OpCharClass && len(re.Rune) > 100 {
		n++
	}
	for _, sub := range re.Sub {
		n += unicodeSets(sub)
	}
	return n
}
