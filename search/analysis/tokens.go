package analysis

import "iter"

// Token is one term of a text, without the term itself: Tokens.Term has it.
type Token struct {
	// Start and End are the bytes of the text that the term was made of.
	Start, End int32
	// Increment is how many positions the term is behind the one before it: 1, more where terms
	// were removed between them (stop words, terms that are too long), 0 where both stand at one
	// position.
	Increment int32

	from, to int32 // the term, in the bytes of its Tokens
}

// Tokens are the terms of one text or of several, in order. The zero value is empty and ready. It
// is used again for the next text after Reset, so that analysing allocates nothing once its buffers
// have grown; it is for one goroutine.
type Tokens struct {
	list  []Token
	terms []byte
	gap   int32
	each  func(Token, []byte) // takes terms in the place of list and terms; nil outside of Each
	word  word
	stems stemCache
	run   pairRun
	// scratch is for steps that make the word longer while they work on it.
	scratch []byte
}

// Reset forgets all terms and keeps the buffers, unless one text made them large.
func (t *Tokens) Reset() {
	const keptTokens, keptBytes = 1 << 14, 1 << 18
	if cap(t.list) > keptTokens {
		t.list = nil
	}
	if cap(t.terms) > keptBytes {
		t.terms = nil
	}
	if cap(t.run.bytes) > keptBytes {
		t.run = pairRun{}
	}
	t.list, t.terms, t.gap = t.list[:0], t.terms[:0], 0
}

// Len is the number of terms.
func (t *Tokens) Len() int { return len(t.list) }

// At is the i-th token.
func (t *Tokens) At(i int) Token { return t.list[i] }

// Term is the term of the i-th token. It is valid until the next Reset, and not to be changed.
func (t *Tokens) Term(i int) []byte { return t.term(t.list[i]) }

func (t *Tokens) term(k Token) []byte { return t.terms[k.from:k.to:k.to] }

// All are all tokens with their terms.
func (t *Tokens) All() iter.Seq2[Token, []byte] {
	return func(yield func(Token, []byte) bool) {
		for _, k := range t.list {
			if !yield(k, t.term(k)) {
				return
			}
		}
	}
}

// add ends the term that begins at from.
func (t *Tokens) add(from, start, end int, increment int32) {
	k := Token{
		Start: int32(start), End: int32(end), Increment: increment, from: int32(from), to: int32(len(t.terms)),
	}
	if t.each == nil {
		t.list = append(t.list, k)
		return
	}
	t.each(k, t.term(k))
	t.terms = t.terms[:from]
}
