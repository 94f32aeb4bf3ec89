package analysis

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file is the classic analyzer: the rules for words that Lucene had before it followed
// Unicode's. Host names, addresses, and numbers with what hangs on them stay whole, acronyms lose
// their dots, words the 's.

// splitClassic finds tokens (ClassicTokenizer): of all that may begin at a character the longest,
// of equally long ones the one that comes first in classicToken.
func splitClassic(text string, at, _ int) (start, end int, k kind) {
	for at < len(text) {
		if end, k := classicToken(text, at); end > at {
			return at, end, k
		}
		_, n := utf8.DecodeRuneInString(text[at:])
		at += n
	}
	return len(text), len(text), kindWord
}

// classicClass is the class of a character in the classic rules.
type classicClass uint8

const (
	classicOther classicClass = iota
	classicLetter
	classicDigit
	classicThai
	classicCJ // each a token
)

// classicOf says what a character is by the grammar of Lucene's ClassicTokenizer. Its ranges are
// older than today's Unicode and are kept, since other ranges would make other terms.
func classicOf(r rune) classicClass {
	switch {
	case r < utf8.RuneSelf:
		if isLetter(r) {
			return classicLetter
		} else if '0' <= r && r <= '9' {
			return classicDigit
		}
		return classicOther
	case r >= 0x3040 && r <= 0x312F && r != 0x3130, 0x31F0 <= r && r <= 0x31FF, 0x3300 <= r && r <= 0x337F,
		0x3400 <= r && r <= 0x4DBF, 0x4E00 <= r && r <= 0x9FFF, 0xF900 <= r && r <= 0xFAFF, 0xFF65 <= r && r <= 0xFF9F:
		return classicCJ
	case unicode.IsLetter(r):
		return classicLetter
	case unicode.IsDigit(r):
		return classicDigit
	case 0x0E00 <= r && r <= 0x0E59:
		return classicThai
	}
	return classicOther
}

// classicRun is where a run of letters and digits ends, where it would end as letters alone, and
// whether it has digits.
func classicRun(text string, at int) (end, letters int, digits bool) {
	letters = -1
	for end = at; end < len(text); {
		r, n := rune(text[end]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(text[end:])
		}
		c := classicOf(r)
		if c == classicOther || c == classicCJ {
			break
		}
		if c != classicLetter && letters < 0 {
			letters = end
		}
		digits = digits || c == classicDigit
		end += n
	}
	if letters < 0 {
		letters = end
	}
	return end, letters, digits
}

// byteAt is the byte at i, 0 behind the end.
func byteAt(text string, i int) byte {
	if i < len(text) {
		return text[i]
	}
	return 0
}

// classicToken finds the token that begins at a byte as Lucene's ClassicTokenizer does: all rules
// are tried and the longest match wins, the earlier one if two are equally long. end is at if none
// begins there.
func classicToken(text string, at int) (end int, k kind) {
	run, letters, _ := classicRun(text, at)
	if run == at {
		if r, n := utf8.DecodeRuneInString(text[at:]); classicOf(r) == classicCJ {
			return at + n, kindWord
		}
		return at, kindWord
	}
	end = run
	longer := func(to int, as kind) {
		if to > end {
			end, k = to, as
		}
	}
	if letters > at && letters < len(text) {
		longer(classicApostrophe(text, letters), kindApostrophe)
		longer(classicAcronym(text, at), kindAcronym)
		if c := text[letters]; c == '&' || c == '@' {
			if _, to, _ := classicRun(text, letters+1); to > letters+1 {
				longer(to, kindWord)
			}
		}
	}
	longer(classicEmail(text, run), kindWord)
	host, dotted := classicHost(text, run)
	longer(host, kindWord)
	longer(classicNumber(text, at), kindWord)
	longer(dotted, kindDotted)
	return end, k
}

// classicApostrophe is for O'Neil: letters, each after an apostrophe.
func classicApostrophe(text string, end int) int {
	for byteAt(text, end) == '\'' {
		_, to, _ := classicRun(text, end+1)
		if to == end+1 {
			break
		}
		end = to
	}
	return end
}

// classicAcronym is for I.B.M.: single letters, each with a dot behind it.
func classicAcronym(text string, at int) int {
	end, count := at, 0
	for i := at; i < len(text); count++ {
		r, n := utf8.DecodeRuneInString(text[i:])
		if classicOf(r) != classicLetter || byteAt(text, i+n) != '.' {
			break
		}
		i += n + 1
		if count > 0 {
			end = i
		}
	}
	return end
}

// classicEmail is for addresses: runs with dots, hyphens or underscores between them, an @, and a
// host that has a dot or a hyphen; 0 if there is none. end is where the first run ends.
func classicEmail(text string, end int) int {
	for i := end; ; {
		switch byteAt(text, i) {
		case '.', '-', '_':
			to, _, _ := classicRun(text, i+1)
			if to == i+1 {
				return 0
			}
			i = to
			continue
		case '@':
			to, _, _ := classicRun(text, i+1)
			if to == i+1 {
				return 0
			}
			dots := false
			for c := byteAt(text, to); c == '.' || c == '-'; c = byteAt(text, to) {
				next, _, _ := classicRun(text, to+1)
				if next == to+1 {
					break
				}
				to, dots = next, true
			}
			if dots {
				return to
			}
		}
		return 0
	}
}

// classicHost is for a.b.c; dotted is where one ends that ends with a dot.
func classicHost(text string, end int) (host, dotted int) {
	for count := 0; byteAt(text, end) == '.'; count++ {
		if count > 0 {
			dotted = end + 1
		}
		to, _, _ := classicRun(text, end+1)
		if to == end+1 {
			break
		}
		end, host = to, to
	}
	return host, dotted
}

// classicNumber is for product numbers and the like: runs with one of -_/., between them, of which
// every other one has a digit.
func classicNumber(text string, at int) int {
	// odd and even: all runs at these places so far have digits.
	odd, even := true, true
	longest := 0
	for i, count := at, 0; ; count++ {
		to, _, digits := classicRun(text, i)
		if to == i {
			return longest
		}
		if count%2 == 0 {
			even = even && digits
		} else {
			odd = odd && digits
		}
		if !odd && !even {
			return longest
		}
		if count > 0 {
			longest = to
		}
		if c := byteAt(text, to); c == 0 || strings.IndexByte("_-/.,", c) < 0 {
			return longest
		}
		i = to + 1
	}
}

// classicFilter takes 's from words with an apostrophe and the dots out of acronyms
// (ClassicFilter).
func classicFilter(w *word) bool {
	b := w.bytes()
	switch n := len(b); {
	case w.kind == kindApostrophe && n >= 2 && b[n-2] == '\'' && b[n-1]|0x20 == 's':
		w.shorten(n - 2)
	case w.kind == kindAcronym:
		w.t.scratch = append(w.t.scratch[:0], bytes.ReplaceAll(b, []byte("."), nil)...)
		w.setBytes(w.t.scratch)
	case w.kind == kindDotted:
		w.shorten(n - 1)
	}
	return true
}

// classicAnalyzer is Lucene's ClassicAnalyzer, the StandardAnalyzer of old: it keeps host names and
// e-mail addresses whole.
func classicAnalyzer(_ Dialect, set stopSet) *Analyzer {
	return &Analyzer{
		split:  splitClassic,
		steps:  []step{classicFilter, lowercase, stop(set.or("english"))},
		normal: []step{lowercase},
		// Lucene 9 still leaves longer ones out here.
		longest: 255, dropLonger: true,
	}
}
