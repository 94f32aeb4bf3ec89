package analysis

import (
	"strings"
	"unicode/utf8"
)

// scanner finds words in a text, by Unicode's rules as Lucene's StandardTokenizer has them: words
// of letters and numbers, single ideographs and Hiragana, runs of Katakana, of Hangul and of
// scripts that use no spaces.
type scanner struct {
	text  string
	table func() *classTable
	// limit is where a token that is as long as it may be ends.
	limit int
	// modern is the newer of the two generations: emoji are tokens, and quotation marks belong to
	// Hebrew words.
	modern bool
}

// splitStandard46 and splitStandard9 are StandardTokenizer in Lucene 4.6 and in Lucene 9.
func splitStandard46(text string, at, longest int) (start, end int, k kind) {
	return scanWords(text, at, longest, false)
}

func splitStandard9(text string, at, longest int) (start, end int, k kind) {
	return scanWords(text, at, longest, true)
}

// scanWords finds the next token from a place on, as Unicode's rules for word breaks have it (UAX
// 29) in the version of Lucene's generation. The end of the text is the answer where there is none.
func scanWords(text string, at, longest int, modern bool) (start, end int, k kind) {
	s := scanner{text: text, limit: len(text), modern: modern, table: classes46}
	if modern {
		s.table = classes9
	}
	for at < len(text) {
		c, n := s.class(at)
		if c == other || c == extend {
			at += n
			continue
		}
		// A unit of UTF-16 has at most three bytes, and at least one: only what is longer in bytes
		// is counted.
		s.limit = min(len(text), at+3*longest+utf8.UTFMax)
		end, k, ok := s.token(at, c, n)
		if ok && end-at > longest {
			s.limit = limitFrom(text, at, longest)
			end, k, ok = s.token(at, c, n)
		}
		if ok {
			return at, min(end, s.limit), k
		}
		s.limit = len(text)
		at += n
	}
	return len(text), len(text), kindWord
}

// limitFrom is where a text of that many UTF-16 units ends, in whole characters.
func limitFrom(text string, at, longest int) int {
	if len(text)-at <= longest {
		return len(text)
	}
	units := 0
	for i := at; i < len(text); {
		n := 1
		if text[i] >= utf8.RuneSelf {
			_, n = utf8.DecodeRuneInString(text[i:])
		}
		units += unitsIn(n)
		if units > longest {
			return i
		}
		i += n
	}
	return len(text)
}

// class is the class of the character at i and its length; at the end of what may be looked at it
// is other.
func (s *scanner) class(i int) (class, int) {
	if i >= s.limit {
		return other, 0
	}
	if b := s.text[i]; b < utf8.RuneSelf {
		return asciiClasses[b], 1
	}
	r, n := utf8.DecodeRuneInString(s.text[i:])
	return s.table().of(r), n
}

// extended is where the marks that follow end.
func (s *scanner) extended(i int) int {
	for {
		c, n := s.class(i)
		if n == 0 || !c.extends() {
			return i
		}
		i += n
	}
}

func (c class) extends() bool { return c == extend || c == zwj || c == present || c == complexMark }
func (c class) letters() bool { return c == letter || c == hangul || c == hebrew }

// token is where the token that begins at i ends, if one begins there.
func (s *scanner) token(i int, c class, n int) (end int, k kind, ok bool) {
	switch c {
	case letter, hebrew, hangul, numeric, katakana, joiner:
		return s.word(i)
	case complexContext, complexMark:
		for c == complexContext || c == complexMark {
			i += n
			if s.modern {
				i = s.extended(i)
			}
			c, n = s.class(i)
		}
		return i, kindWord, true
	case han:
		return s.extended(i + n), kindIdeograph, true
	case hiragana:
		return s.extended(i + n), kindHiragana, true
	}
	if s.modern {
		end, ok = s.emoji(i, c, n)
	}
	return end, kindWord, ok
}

// word is where a word ends: characters that Unicode does not break between. A word of joiners
// alone is none.
func (s *scanner) word(i int) (end int, k kind, ok bool) {
	before := other
	hangulOnly, katakanaOnly := true, true
	for {
		c, n := s.class(i)
		switch {
		case n == 0:
			return i, wordKind(ok, hangulOnly, katakanaOnly), ok
		case c.extends() && before != other:
			i += n
			continue
		case before == other || follows(before, c):
			i += n
		default:
			next, m := s.over(before, c, i+n)
			if m == 0 {
				return i, wordKind(ok, hangulOnly, katakanaOnly), ok
			}
			i, c = m, next
		}
		before = c
		ok = ok || c != joiner
		hangulOnly, katakanaOnly = hangulOnly && c == hangul, katakanaOnly && c == katakana
	}
}

// wordKind is the type that Lucene gives a word of one script.
func wordKind(ok, hangulOnly, katakanaOnly bool) kind {
	switch {
	case ok && hangulOnly:
		return kindHangul
	case ok && katakanaOnly:
		return kindKatakana
	}
	return kindWord
}

// follows: no break between a character of one class and one of the other.
func follows(before, c class) bool {
	switch {
	case c == joiner:
		return true
	case before == joiner:
		return c.letters() || c == numeric || c == katakana
	case before == katakana || c == katakana:
		return before == c
	default:
		return c.letters() || c == numeric
	}
}

// over is for a character that stands within words only: what comes behind it and where that ends,
// 0 if there is a break before it. Behind the quotation mark of a Hebrew word letters may follow,
// and no other such character.
func (s *scanner) over(before, c class, i int) (class, int) {
	i = s.extended(i)
	next, n := s.class(i)
	switch {
	case before.letters() && next.letters() && (c == midLetter || c == midBoth || c == singleQuote):
		return next, i + n
	case before == numeric && next == numeric && (c == midNum || c == midBoth || c == singleQuote):
		return next, i + n
	case s.modern && before == hebrew && c == singleQuote:
		return singleQuote, i
	case s.modern && before == hebrew && c == doubleQuote && next == hebrew:
		return singleQuote, i + n
	}
	return other, 0
}

// emoji is where the emoji that begins at i ends: a flag, a key, one picture, or several that
// joiners make one.
func (s *scanner) emoji(i int, c class, n int) (end int, ok bool) {
	switch c {
	case regional:
		i = s.extended(i + n)
		if c, n = s.class(i); c != regional {
			return 0, false
		}
		return s.extended(i + n), true
	case keyBase:
		end = s.extended(i + n)
		return end, strings.Contains(s.text[i:end], "\u20E3")
	}
	for {
		next, picture := s.picture(i, ok)
		if !picture {
			return i, ok
		}
		i, ok = next, true
		if c, _ := s.class(i); c != zwj && !strings.HasSuffix(s.text[:i], "\u200D") {
			return i, true
		}
	}
}

// picture is where one picture with its skin colour and its marks ends. Joiners may stand before
// it, but before a skin colour alone only the one that joins it to the picture before.
func (s *scanner) picture(i int, joined bool) (end int, ok bool) {
	c, n := s.class(i)
	joiners := 0
	for c == zwj {
		joiners++
		i += n
		c, n = s.class(i)
	}
	alone := joiners == 0 || joiners == 1 && joined
	if c != emoji && c != emojiBase && (c != emojiModifier || !alone) {
		return 0, false
	}
	i = s.marks(i + n)
	next, m := s.class(i)
	if c == emojiBase && next == emojiModifier {
		return s.marks(i + m), true
	}
	if c != emojiModifier && strings.HasPrefix(s.text[i:s.limit], "\uFE0F") {
		i += m
	}
	return i, true
}

// marks is extended, but for presentation selectors.
func (s *scanner) marks(i int) int {
	for {
		c, n := s.class(i)
		if n == 0 || c == present || !c.extends() {
			return i
		}
		i += n
	}
}
