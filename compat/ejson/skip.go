package ejson

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
)

// These functions find members and elements of a long text without a tape, by skipping over the
// values before them. They are for texts that AppendJSON has printed, as stored documents are. For
// other texts the result is some part of the text, maybe a wrong one, but never a panic.

// TextMembers iterates over the members of the text of an object: names with their quotes, and
// values. The text of something else has none. Both are parts of text that cannot be appended to.
func TextMembers(text []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		if len(text) == 0 || text[0] != '{' {
			return
		}
		for at := 1; at < len(text)-1; {
			nameEnd := stringEnd(text, at)
			begin := min(nameEnd+1, len(text))
			end := valueEnd(text, begin)
			if !yield(text[at:nameEnd:nameEnd], text[begin:end:end]) {
				return
			}
			at = end + 1
		}
	}
}

// TextElements iterates over the elements of the text of an array, as TextMembers does over members.
func TextElements(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if len(text) == 0 || text[0] != '[' {
			return
		}
		for at := 1; at < len(text)-1; {
			end := valueEnd(text, at)
			if !yield(text[at:end:end]) {
				return
			}
			at = end + 1
		}
	}
}

// valueEnd is where the value ends that begins at i. Where the text is not JSON it is some index
// from i on.
func valueEnd(text []byte, i int) int {
	if i >= len(text) {
		return len(text)
	}
	switch text[i] {
	case '"':
		return stringEnd(text, i)
	case '{', '[':
		return containerEnd(text, i)
	}
	for i < len(text) && text[i] != ',' && text[i] != '}' && text[i] != ']' {
		i++
	}
	return i
}

// containerEnd is where the object or array ends that begins at i: behind the bracket that closes
// as many as were opened.
func containerEnd(text []byte, i int) int {
	for depth := 0; ; {
		if i = nextBracket(text, i); i >= len(text) {
			return len(text)
		}
		switch text[i] {
		case '"':
			i = stringEnd(text, i)
			continue
		case '{', '[':
			depth++
		default:
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
}

// nextBracket is the first quote, bracket or brace at or after i; eight bytes at a time. A bracket
// and its brace differ in one bit, which is set here in both of them.
func nextBracket(text []byte, i int) int {
	for i+8 <= len(text) {
		x := binary.LittleEndian.Uint64(text[i:])
		quote, braces := x^ones*'"', x|ones*0x20
		opened, closed := braces^ones*'{', braces^ones*'}'
		// The lowest byte marked is right; higher marks may be borrows.
		special := (quote-ones)&^quote | (opened-ones)&^opened | (closed-ones)&^closed
		if special &= highs; special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
		i += 8
	}
	for i < len(text) && text[i] != '"' && text[i]|0x20 != '{' && text[i]|0x20 != '}' {
		i++
	}
	return i
}

// stringEnd is where the string ends that begins at i: after the first quote with an even number of
// backslashes before it.
func stringEnd(text []byte, i int) int {
	begin := i
	for i++; i < len(text); {
		quote := bytes.IndexByte(text[i:], '"')
		if quote < 0 {
			return len(text)
		}
		i += quote
		backslashes := 0
		for i-1-backslashes > begin && text[i-1-backslashes] == '\\' {
			backslashes++
		}
		if i++; backslashes%2 == 0 {
			return i
		}
	}
	return len(text)
}
