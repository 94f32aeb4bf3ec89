package analysis

import (
	"unicode"
	"unicode/utf8"
)

// lowerLow are the small letters of the characters below its length, which are most letters of
// Europe.
var lowerLow = func() (table [0x600]rune) {
	for r := range table {
		table[r] = unicode.ToLower(rune(r))
	}
	return table
}()

// lower is Java's lower case of a character; the table has those that are asked for most.
func lower(r rune) rune {
	if int(r) < len(lowerLow) && r >= 0 {
		return lowerLow[r]
	}
	return unicode.ToLower(r)
}

// lowercase makes all letters small, one by one, without regard to language or neighbours.
func lowercase(w *word) bool {
	b := w.bytes()
	for i, c := range b {
		if c >= utf8.RuneSelf {
			return lowercaseRunes(w)
		}
		if 'A' <= c && c <= 'Z' {
			b[i] = c + ('a' - 'A')
			w.decoded = false
		}
	}
	return true
}

// lowercaseRunes is lowercase for a word with other letters than ASCII. Most words are small already,
// so they are written back only where a letter has changed.
func lowercaseRunes(w *word) bool {
	r := w.runes()
	changed := false
	for i, c := range r {
		if l := lower(c); l != c {
			r[i], changed = l, true
		}
	}
	if changed {
		w.setRunes(r)
	}
	return true
}
