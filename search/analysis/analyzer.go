package analysis

import "unicode/utf8"

// Analyzer makes terms of texts. It is never changed once it is made, and for any number of
// goroutines.
type Analyzer struct {
	name  string
	split splitter
	// steps are the filters that each token passes, in this order.
	steps []step
	// normal are the steps that concern letters and not words: what Normalize does.
	normal []step
	// whole makes the terms instead of split and steps, for analyzers that look at several tokens
	// together.
	whole func(a *Analyzer, t *Tokens, text string)
	// before replaces bytes of the text by as many other bytes, so that offsets stay.
	before func(text string) string
	// empty: the empty text is a term.
	empty bool
	// longest is how many UTF-16 units a token may have; dropLonger leaves longer ones out instead
	// of cutting them.
	longest    int
	dropLonger bool
}

// splitter finds the first token of a text at or after a byte: where it begins and ends, and what
// it is. A text without another token gives start == end. No token is longer than longest UTF-16
// units.
type splitter func(text string, at, longest int) (start, end int, kind kind)

// kind is the type of a token, for the steps that look at it.
type kind uint8

const (
	kindWord kind = iota
	kindIdeograph
	kindHiragana
	kindKatakana
	kindHangul
	kindApostrophe // of the classic analyzer: O'Neil
	kindAcronym    // of the classic analyzer: I.B.M.
	kindDotted     // of the classic analyzer: ab.cd.
)

// step changes the word or, with false, drops it; its position stays counted.
type step func(w *word) bool

// unlimited is the length of a token that nothing bounds.
const unlimited = 1 << 30

// Name is what the analyzer is called in design documents.
func (a *Analyzer) Name() string { return a.name }

// Analyze appends the terms of a text to those that t has. Offsets count bytes of this text.
func (a *Analyzer) Analyze(t *Tokens, text string) {
	if len(text) > maxText {
		text = cutText(text)
	}
	if a.before != nil {
		text = a.before(text)
	}
	if a.whole != nil {
		a.whole(a, t, text)
		return
	}
	if text == "" && a.empty {
		t.add(len(t.terms), 0, 0, t.gap+1)
		t.gap = 0
		return
	}
	gap := t.gap
	a.tokens(text, func(start, end int, kind kind, dropped bool) {
		if dropped || !a.term(t, text[start:end], kind) {
			gap++
			return
		}
		t.add(t.word.from, start, end, gap+1)
		gap = 0
	})
	t.gap = gap
}

// Each calls fn for the terms of a text in order, and keeps none of them: a text of a million words
// takes no more memory than one of a few. The term is valid until fn returns. t is as Analyze needs
// it; fn must not use it.
func (a *Analyzer) Each(t *Tokens, text string, fn func(Token, []byte)) {
	t.each = fn
	a.Analyze(t, text)
	t.each = nil
}

// tokens calls fn for the tokens of a text, also for those that are dropped because they are too
// long.
func (a *Analyzer) tokens(text string, fn func(start, end int, kind kind, dropped bool)) {
	longest := a.longest
	if a.dropLonger {
		longest = unlimited
	}
	for at := 0; ; {
		start, end, kind := a.split(text, at, longest)
		if start == end {
			return
		}
		at = end
		fn(start, end, kind, a.dropLonger && end-start > a.longest && unitsOf(text[start:end]) > a.longest)
	}
}

// term appends the term of a token to t, without its entry; false if the steps dropped it.
func (a *Analyzer) term(t *Tokens, token string, kind kind) bool {
	w := &t.word
	w.begin(t, token, kind)
	for _, s := range a.steps {
		if !s(w) {
			t.terms = t.terms[:w.from]
			return false
		}
	}
	w.end()
	return true
}

// Normalize is a term as the index may have it, for terms of queries that are not analysed:
// prefixes, bounds of ranges, patterns. Letters become small and folded where the analyzer does
// that; words stay as they are.
func (a *Analyzer) Normalize(term string) string {
	if len(a.normal) == 0 {
		return term
	}
	var t Tokens
	t.word.begin(&t, term, kindWord)
	for _, s := range a.normal {
		s(&t.word)
	}
	t.word.end()
	return string(t.terms)
}

// maxText is what is analysed of one text. A larger one does not come through the limits of
// documents; offsets and terms of up to this size fit into 31 bits.
const maxText = 1 << 28

// cutText cuts a text at maxText bytes, not inside of a character.
func cutText(text string) string {
	n := maxText
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// unitsOf is the length of a text in UTF-16 units, which is what Lucene counts.
func unitsOf(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		switch b := s[i]; {
		case b < 0x80 || b >= 0xC0 && b < 0xF0:
			n++
		case b >= 0xF0:
			n += 2
		}
	}
	return n
}
