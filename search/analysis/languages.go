package analysis

import (
	"slices"
	"strings"
	"unicode"
)

// This file puts the analyzers of languages together, each step in the order in which Lucene has
// it.

// language is an analyzer that drops stop words after making letters small.
func language(name string, steps ...step) recipe {
	return func(d Dialect, set stopSet) *Analyzer {
		all := append([]step{lowercase, stop(set.or(name))}, steps...)
		return words(d, all...)
	}
}

// elided is one with articles before the words.
func elided(name string, articles []string, steps ...step) recipe {
	return func(d Dialect, set stopSet) *Analyzer {
		all := append([]step{elision(articles...), lowercase, stop(set.or(name))}, steps...)
		return words(d, all...)
	}
}

var (
	frenchArticles = []string{"l", "m", "t", "qu", "n", "s", "j", "d", "c", "jusqu", "quoiqu", "lorsqu", "puisqu"}

	italianArticles = []string{"c", "l", "all", "dall", "dell", "nell", "sull", "coll", "pell", "gl", "agl", "dagl",
		"degl", "negl", "sugl", "un", "m", "t", "s", "v", "d"}
	catalanArticles = []string{"d", "l", "m", "n", "s", "t"}
	irishArticles   = []string{"d", "m", "b"}
)

// germanAnalyzer brings ä, ae and ß to one form before it takes endings off.
func germanAnalyzer(d Dialect, set stopSet) *Analyzer {
	a := words(d, lowercase, stop(set.or("german")), germanNormal, ofRunes(germanLight))
	a.normal = append(a.normal, germanNormal)
	return a
}

// arabicAnalyzer and those after it make letters one before they stem, and Lucene 9 digits too.
func arabicAnalyzer(d Dialect, set stopSet) *Analyzer {
	normal := append(digits(d), letterStep(arabicLetters))
	steps := append([]step{lowercase}, digits(d)...)
	steps = append(steps, stop(set.or("arabic")), letterStep(arabicLetters), ofRunes(arabicStem))
	a := words(d, steps...)
	a.normal = append(a.normal, normal...)
	return a
}

// persianAnalyzer is Lucene's: Arabic letters are made one before the Persian ones are. The stop words
// come last, because they are written in letters that are normalized already.
func persianAnalyzer(d Dialect, set stopSet) *Analyzer {
	letters := append(digits(d), letterStep(arabicLetters), letterStep(persianLetters))
	steps := append([]step{lowercase}, letters...)
	a := words(d, append(steps, stop(set.or("persian")))...)
	a.normal = append(a.normal, letters...)
	// What binds the parts of a word without joining their letters becomes a space.
	a.before = func(text string) string { return strings.ReplaceAll(text, "\u200C", "   ") }
	return a
}

func hindiAnalyzer(d Dialect, set stopSet) *Analyzer {
	letters := append(digits(d), ofRunes(hindiNormal))
	steps := append([]step{lowercase}, letters...)
	a := words(d, append(steps, stop(set.or("hindi")), ofRunes(hindiStem))...)
	a.normal = append(a.normal, letters...)
	return a
}

// digits makes digits of all scripts 0 to 9, which Lucene 4.6 does not.
func digits(d Dialect) []step {
	if d == Clouseau {
		return nil
	}
	return []step{func(w *word) bool {
		for _, c := range w.bytes() {
			if c >= 0x80 {
				r := w.runes()
				for i, c := range r {
					if c >= 0x80 && unicode.IsDigit(c) {
						r[i] = digitOf(c)
					}
				}
				w.setRunes(r)
				break
			}
		}
		return true
	}}
}

// digitOf is the digit that a character is: those of a script follow each other, and the block
// begins with zero.
func digitOf(c rune) rune {
	zero := c
	for zero > 0 && unicode.IsDigit(zero-1) && c-(zero-1) < 10 {
		zero--
	}
	return '0' + (c - zero)
}

// irishAnalyzer drops the mutations h, n and t that stand before a hyphen.
func irishAnalyzer(d Dialect, set stopSet) *Analyzer {
	return words(d, irishMutation, elision(irishArticles...), irishLowercase, stop(set.or("irish")), irishStems.step)
}

// irishMutation leaves out the single letters that mutations leave before a hyphen.
func irishMutation(w *word) bool {
	b := w.bytes()
	return len(b) != 1 || b[0]|0x20 != 'h' && b[0]|0x20 != 'n' && b[0]|0x20 != 't'
}

// irishLowercase keeps the mutation n or t before a capital vowel apart: nAthair is n-athair.
func irishLowercase(w *word) bool {
	r := w.runes()
	if len(r) > 1 && (r[0] == 'n' || r[0] == 't') && oneOf(r[1], "AEIOUÁÉÍÓÚ") {
		r = slices.Insert(r, 1, '-')
	}
	for i, c := range r {
		r[i] = lower(c)
	}
	w.setRunes(r)
	return true
}

// turkishAnalyzer has the two letters i; Lucene 9 takes what stands after an apostrophe off.
func turkishAnalyzer(d Dialect, set stopSet) *Analyzer {
	steps := []step{turkishLowercase, stop(set.or("turkish")), turkishStems.step}
	if d == Nouveau {
		steps = append([]step{beforeApostrophe}, steps...)
	}
	a := words(d, steps...)
	a.normal = []step{turkishLowercase}
	return a
}

// beforeApostrophe cuts a word at its apostrophe, which separates suffixes in Turkish
// (ApostropheFilter).
func beforeApostrophe(w *word) bool {
	r := w.runes()
	if i := slices.IndexFunc(r, func(c rune) bool { return c == '\'' || c == '\u2019' }); i >= 0 {
		w.setRunes(r[:i])
	}
	return true
}

// turkishLowercase makes letters small as Turkish does: I becomes a dotless ı, and İ, also as I
// with a dot above of its own, becomes i (TurkishLowerCaseFilter).
func turkishLowercase(w *word) bool {
	r := w.runes()
	out := r[:0]
	for i := 0; i < len(r); i++ {
		switch c := r[i]; {
		case c == 'I' && i+1 < len(r) && r[i+1] == '\u0307':
			out = append(out, 'i')
			i++
		case c == 'I':
			out = append(out, 'ı')
		case c == 'İ':
			out = append(out, 'i')
		default:
			out = append(out, lower(c))
		}
	}
	w.setRunes(out)
	return true
}

// greekLetters are letters with accents, and the sigma at the end of a word (GreekLowerCaseFilter).
var greekLetters = replacement("ά", "α", "έ", "ε", "ή", "η", "ίϊΐ", "ι", "ό", "ο", "ύϋΰ", "υ", "ώ", "ω", "ς", "σ")

func greekAnalyzer(d Dialect, set stopSet) *Analyzer {
	a := words(d, lowercase, letterStep(greekLetters), stop(set.or("greek")), cached(greekStem))
	a.normal = append(a.normal, letterStep(greekLetters))
	return a
}

// hungarianAnalyzer takes ő and ű for consonants in _search, and õ and û for them: the stemmer in
// Lucene 4.6 was made from a description in an encoding that lacks these letters.
func hungarianAnalyzer(d Dialect, set stopSet) *Analyzer {
	steps := []step{lowercase, stop(set.or("hungarian"))}
	if d == Nouveau {
		return words(d, append(steps, hungarianStems.step)...)
	}
	there := letterStep(replacement("ő", "\uE000", "ű", "\uE001", "õ", "ő", "û", "ű"))
	back := letterStep(replacement("\uE000", "ő", "\uE001", "ű", "ő", "õ", "ű", "û"))
	return words(d, append(steps, there, hungarianStems.step, back)...)
}
