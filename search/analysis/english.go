package analysis

import "bytes"

// possessive takes the 's from the end of a word (EnglishPossessiveFilter).
func possessive(w *word) bool {
	b := w.bytes()
	n := len(b)
	if n < 3 || b[n-1]|0x20 != 's' {
		return true
	}
	for _, quote := range []string{"'", "\u2019", "\uFF07"} {
		if bytes.HasSuffix(b[:n-1], []byte(quote)) {
			w.shorten(n - 1 - len(quote))
			return true
		}
	}
	return true
}

// porter is Martin Porter's first algorithm of 1980, which Lucene's English analyzer has; it is not
// Snowball's English. The word is in small letters; what is no ASCII letter counts as a consonant.
func porter(w *word) bool {
	b := w.bytes()
	for _, c := range b {
		if c >= 0x80 {
			p := porterWord[rune]{b: w.runes()}
			p.stem()
			w.setRunes(p.b)
			return true
		}
	}
	p := porterWord[byte]{b: append(w.t.scratch[:0], b...)}
	p.stem()
	w.t.scratch = p.b
	w.setBytes(p.b)
	return true
}

// porterWord is the word: bytes if it is ASCII, which most are, or runes.
type porterWord[T byte | rune] struct{ b []T }

// stem is Porter's algorithm in its five steps; words of one or two letters stay.
func (p *porterWord[T]) stem() {
	if len(p.b) <= 2 {
		return
	}
	p.plurals()
	p.pastTense()
	p.finalY()
	p.replaceLongest(porterStep2, 0)
	p.replaceLongest(porterStep3, 0)
	p.derivations()
	p.finalE()
}

// consonant reports whether the i-th letter is one.
func (p *porterWord[T]) consonant(i int) bool {
	switch p.b[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !p.consonant(i-1)
	}
	return true
}

// measure counts how often vowels are followed by consonants in the first n letters.
func (p *porterWord[T]) measure(n int) int {
	count, vowel := 0, false
	for i := range n {
		switch c := p.consonant(i); {
		case c && vowel:
			count, vowel = count+1, false
		case !c:
			vowel = true
		}
	}
	return count
}

// hasVowel reports whether one of the first n letters is a vowel.
func (p *porterWord[T]) hasVowel(n int) bool {
	for i := range n {
		if !p.consonant(i) {
			return true
		}
	}
	return false
}

// doubled reports whether the first n letters end with a consonant twice.
func (p *porterWord[T]) doubled(n int) bool {
	return n >= 2 && p.b[n-1] == p.b[n-2] && p.consonant(n-1)
}

// short reports whether the first n letters end with consonant, vowel, consonant, the last none of
// w, x, y.
func (p *porterWord[T]) short(n int) bool {
	if n < 3 || !p.consonant(n-1) || p.consonant(n-2) || !p.consonant(n-3) {
		return false
	}
	c := p.b[n-1]
	return c != 'w' && c != 'x' && c != 'y'
}

// ends reports whether the word has the suffix. It compares in place: the word is bytes or runes, and
// most of the rules of the stemmer ask this of every word.
func (p *porterWord[T]) ends(suffix string) bool {
	n := len(p.b) - len(suffix)
	if n < 0 {
		return false
	}
	for i := len(suffix) - 1; i >= 0; i-- {
		if p.b[n+i] != T(suffix[i]) {
			return false
		}
	}
	return true
}

// without is the length without the suffix.
func (p *porterWord[T]) without(suffix string) int { return len(p.b) - len(suffix) }

func (p *porterWord[T]) cut(n int) { p.b = p.b[:len(p.b)-n] }

// plurals is step 1a.
func (p *porterWord[T]) plurals() {
	switch {
	case p.ends("sses"), p.ends("ies"):
		p.cut(2)
	case p.ends("s") && !p.ends("ss"):
		p.cut(1)
	}
}

// pastTense is step 1b.
func (p *porterWord[T]) pastTense() {
	switch {
	case p.ends("eed"):
		if p.measure(p.without("eed")) > 0 {
			p.cut(1)
		}
		return
	case p.ends("ed") && p.hasVowel(p.without("ed")):
		p.cut(2)
	case p.ends("ing") && p.hasVowel(p.without("ing")):
		p.cut(3)
	default:
		return
	}
	n := len(p.b)
	switch {
	case p.ends("at"), p.ends("bl"), p.ends("iz"):
		p.b = append(p.b, 'e')
	case p.doubled(n):
		if c := p.b[n-1]; c != 'l' && c != 's' && c != 'z' {
			p.cut(1)
		}
	case p.measure(n) == 1 && p.short(n):
		p.b = append(p.b, 'e')
	}
}

// finalY is step 1c.
func (p *porterWord[T]) finalY() {
	if p.ends("y") && p.hasVowel(len(p.b)-1) {
		p.b[len(p.b)-1] = 'i'
	}
}

// suffixRule replaces a suffix.
type suffixRule struct{ suffix, by string }

var porterStep2 = []suffixRule{
	{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"}, {"bli", "ble"},
	{"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"}, {"ization", "ize"}, {"ation", "ate"},
	{"ator", "ate"}, {"alism", "al"}, {"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},
	{"iviti", "ive"}, {"biliti", "ble"}, {"logi", "log"},
}

var porterStep3 = []suffixRule{
	{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
}

// replaceLongest applies the first rule that fits, if what stays has a measure above one.
func (p *porterWord[T]) replaceLongest(rules []suffixRule, above int) {
	for _, rule := range rules {
		if p.ends(rule.suffix) {
			if n := p.without(rule.suffix); p.measure(n) > above {
				p.b = p.b[:n]
				for i := range len(rule.by) {
					p.b = append(p.b, T(rule.by[i]))
				}
			}
			return
		}
	}
}

var porterStep4 = []string{
	"al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
	"ous", "ive", "ize",
}

// derivations is step 4.
func (p *porterWord[T]) derivations() {
	for _, suffix := range porterStep4 {
		if !p.ends(suffix) {
			continue
		}
		n := p.without(suffix)
		if suffix == "ion" && (n == 0 || p.b[n-1] != 's' && p.b[n-1] != 't') {
			return
		}
		if p.measure(n) > 1 {
			p.b = p.b[:n]
		}
		return
	}
}

// finalE is step 5.
func (p *porterWord[T]) finalE() {
	if p.ends("e") {
		n := len(p.b) - 1
		if m := p.measure(n); m > 1 || m == 1 && !p.short(n) {
			p.b = p.b[:n]
		}
	}
	if n := len(p.b); p.ends("ll") && p.measure(n) > 1 {
		p.b = p.b[:n-1]
	}
}
