package analysis

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// rule is one line of a stemmer that works by suffixes: of a word with more than above letters that
// ends with suffix, the last cut letters are replaced by add.
type rule struct {
	suffix string
	above  int
	cut    int
	add    string
}

// applyRules applies the first rule that fits; ok says whether one did.
func applyRules(r []rune, rules []suffixes) (_ []rune, ok bool) {
	for i := range rules {
		if s := &rules[i]; len(r) > s.above && hasSuffix(r, s.suffix) {
			return append(r[:len(r)-s.cut], s.add...), true
		}
	}
	return r, false
}

// suffixes is a rule as it is applied.
type suffixes struct {
	suffix, add []rune
	above, cut  int
}

// compileRules turns texts into characters once.
func compileRules(rules []rule) []suffixes {
	list := make([]suffixes, len(rules))
	for i, r := range rules {
		list[i] = suffixes{[]rune(r.suffix), []rune(r.add), r.above, r.cut}
	}
	return list
}

// cutRules are rules that take the whole suffix away.
func cutRules(above int, list ...string) []suffixes {
	var rules []suffixes
	for _, s := range list {
		r := []rune(s)
		rules = append(rules, suffixes{suffix: r, above: above, cut: len(r)})
	}
	return rules
}

func hasSuffix(r, suffix []rune) bool {
	return len(r) >= len(suffix) && slices.Equal(r[len(r)-len(suffix):], suffix)
}

// endsWith compares from the end, without making characters of the suffix first.
func endsWith(r []rune, suffix string) bool {
	n := len(r)
	for i := len(suffix); i > 0; {
		c, size := utf8.DecodeLastRuneInString(suffix[:i])
		n--
		if n < 0 || r[n] != c {
			return false
		}
		i -= size
	}
	return true
}

// startsWith is strings.HasPrefix for a word that is runes already.
func startsWith(r []rune, prefix string) bool {
	i := 0
	for _, c := range prefix {
		if i >= len(r) || r[i] != c {
			return false
		}
		i++
	}
	return true
}

// replacement is a table of letters that stand for others; 0 takes a letter away.
func replacement(pairs ...string) map[rune]rune {
	table := map[rune]rune{}
	for i := 0; i < len(pairs); i += 2 {
		var to rune
		for _, c := range pairs[i+1] {
			to = c
		}
		for _, c := range pairs[i] {
			table[c] = to
		}
	}
	return table
}

// replaceLetters replaces letters by a table.
func replaceLetters(r []rune, table map[rune]rune) []rune {
	out := r[:0]
	for _, c := range r {
		if c >= 0x80 {
			if to, ok := table[c]; ok {
				if to == 0 {
					continue
				}
				c = to
			}
		}
		out = append(out, c)
	}
	return out
}

// letterStep is a step that replaces letters by a table.
func letterStep(table map[rune]rune) step {
	return func(w *word) bool {
		for _, c := range w.bytes() {
			if c >= 0x80 {
				w.setRunes(replaceLetters(w.runes(), table))
				break
			}
		}
		return true
	}
}

// single keeps one of letters that are equal and follow each other.
func single(r []rune) []rune {
	out := r[:1]
	for _, c := range r[1:] {
		if c != out[len(out)-1] || !unicode.IsLetter(c) {
			out = append(out, c)
		}
	}
	return out
}
