package analysis

import "unicode/utf8"

// word is the term that is being made: bytes at the end of the terms of a Tokens, or runes,
// whichever the step before changed. Steps ask for the form that they work on.
type word struct {
	t    *Tokens
	from int // where its bytes begin
	kind kind
	r    []rune
	// spare takes the place of r where a step makes the word longer.
	spare []rune
	// inRunes: r is the word, and the bytes are older.
	inRunes bool
	// decoded: r and the bytes are the same.
	decoded bool
}

// begin puts a token where the terms end; steps change it there.
func (w *word) begin(t *Tokens, token string, kind kind) {
	w.t, w.from, w.kind = t, len(t.terms), kind
	w.inRunes, w.decoded = false, false
	t.terms = append(t.terms, token...)
}

// end makes sure that the bytes are the word.
func (w *word) end() { w.bytes() }

// bytes is the word in UTF-8. They may be changed in place, and are then told to setBytes.
func (w *word) bytes() []byte {
	if w.inRunes {
		b := w.t.terms[:w.from]
		for _, r := range w.r {
			b = utf8.AppendRune(b, r)
		}
		w.t.terms, w.inRunes, w.decoded = b, false, true
	}
	return w.t.terms[w.from:]
}

// setBytes says what the word is now: a part of what bytes gave, or changed there.
func (w *word) setBytes(b []byte) {
	w.t.terms = append(w.t.terms[:w.from], b...)
	w.inRunes, w.decoded = false, false
}

// shorten keeps the first n bytes.
func (w *word) shorten(n int) {
	w.t.terms = w.t.terms[:w.from+n]
	w.inRunes, w.decoded = false, false
}

// setString replaces the word.
func (w *word) setString(s string) {
	w.t.terms = append(w.t.terms[:w.from], s...)
	w.inRunes, w.decoded = false, false
}

// runes is the word as characters. They may be changed in place, and are then told to setRunes.
func (w *word) runes() []rune {
	if !w.inRunes && !w.decoded {
		w.r = w.r[:0]
		b := w.t.terms[w.from:]
		for len(b) > 0 {
			if b[0] < utf8.RuneSelf {
				w.r = append(w.r, rune(b[0]))
				b = b[1:]
				continue
			}
			r, n := utf8.DecodeRune(b)
			w.r = append(w.r, r)
			b = b[n:]
		}
		w.decoded = true
	}
	return w.r
}

// setRunes says what the word is now.
func (w *word) setRunes(r []rune) {
	w.r = r
	w.inRunes, w.decoded = true, false
}

// ofRunes is a step that makes one word of another and drops none.
func ofRunes(change func([]rune) []rune) step {
	return func(w *word) bool {
		w.setRunes(change(w.runes()))
		return true
	}
}
