package analysis

import (
	"unicode"
	"unicode/utf8"
)

// splitLetters gives runs of letters (LetterTokenizer).
func splitLetters(text string, at, longest int) (start, end int, k kind) {
	return splitRuns(text, at, longest, isLetter)
}

// splitWhitespace gives runs of what is no space (WhitespaceTokenizer).
func splitWhitespace(text string, at, longest int) (start, end int, k kind) {
	return splitRuns(text, at, longest, isNoSpace)
}

// splitNothing gives the text as it is (KeywordTokenizer).
func splitNothing(text string, at, _ int) (start, end int, k kind) {
	return at, len(text), kindWord
}

// splitRuns gives runs of characters that belong to tokens. Lucene cuts them at 255 units, but not
// within a character.
func splitRuns(text string, at, longest int, in func(rune) bool) (start, end int, k kind) {
	start = -1
	units := 0
	for i := at; i < len(text); {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(text[i:])
		}
		if !in(r) {
			if start >= 0 {
				return start, i, kindWord
			}
			i += n
			continue
		}
		if start < 0 {
			start = i
		}
		i += n
		units += unitsIn(n)
		if units >= longest {
			return start, i, kindWord
		}
	}
	if start < 0 {
		return len(text), len(text), kindWord
	}
	return start, len(text), kindWord
}

// unitsIn is the number of UTF-16 units of a character that has n bytes in UTF-8.
func unitsIn(n int) int {
	if n == utf8.UTFMax {
		return 2
	}
	return 1
}

// isLetter asks for ASCII first, which most texts are.
func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r|0x20 && r|0x20 <= 'z'
	}
	return unicode.IsLetter(r)
}

// isNoSpace follows Java's Character.isWhitespace: spaces that may be broken, and some controls.
func isNoSpace(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return !(r == ' ' || '\t' <= r && r <= '\r' || 0x1C <= r && r <= 0x1F)
	case r == 0xA0 || r == 0x2007 || r == 0x202F || r == 0x85:
		return true
	default:
		return !unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp)
	}
}
