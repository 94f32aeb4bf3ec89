package compat

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"strconv"
	"strings"
)

// Seq is the part of a sequence that places it in a database's changes: the incarnation of the store, and the
// versionstamp of the commit. Seqs of one database compare as their bytes do. The zero Seq is before all changes.
type Seq struct {
	Incarnation  byte
	Versionstamp [12]byte
}

// Before reports whether a sequence comes before another one.
func (s Seq) Before(other Seq) bool { return s.Compare(other) < 0 }

// Compare orders sequences of one database.
func (s Seq) Compare(other Seq) int {
	return cmp.Or(cmp.Compare(s.Incarnation, other.Incarnation),
		bytes.Compare(s.Versionstamp[:], other.Versionstamp[:]))
}

const seqSize = 13

// seqEncoding refuses texts whose last character has unused bits set, so that each Seq has one text.
var seqEncoding = base64.RawURLEncoding.Strict()

var seqTextSize = seqEncoding.EncodedLen(seqSize)

// AppendSeq appends the wire form `N-opaque` of a sequence: n counts updates, for people and for clients that compare
// numbers; the opaque part alone has the meaning.
func AppendSeq(dst []byte, n uint64, s Seq) []byte {
	var raw [seqSize]byte
	raw[0] = s.Incarnation
	copy(raw[1:], s.Versionstamp[:])
	dst = strconv.AppendUint(dst, n, 10)
	dst = append(dst, '-')
	return seqEncoding.AppendEncode(dst, raw[:])
}

// Since is a place in the changes given by a client. The zero Since is before all changes.
type Since struct {
	Now bool // the end, whatever it is when it is looked at
	Seq Seq  // unless Now: changes after this one
}

// ErrMalformedSeq is the answer to a `since` that is no sequence.
var ErrMalformedSeq = NewError(KindBadRequest, "Malformed sequence supplied in 'since' parameter.")

// ParseSince reads the value of `since`: `0`, `now`, or a sequence, of which quotes around it and the number before the
// opaque part are ignored (fabric_view_changes:unpack_seqs). The error is ErrMalformedSeq.
func ParseSince(text string) (Since, error) {
	switch text {
	case "0":
		return Since{}, nil
	case "now":
		return Since{Now: true}, nil
	}
	s, ok := ParseSeq(text)
	if !ok {
		return Since{}, ErrMalformedSeq
	}
	return Since{Seq: s}, nil
}

// ParseSeq reads a sequence as ParseSince does, without `0` and `now`.
func ParseSeq(text string) (s Seq, ok bool) {
	text = strings.TrimPrefix(text, `"`)
	text = strings.TrimSuffix(text, `"`)
	// An opaque part alone may itself look as if it had a number in front.
	if len(text) != seqTextSize {
		n := 0
		for n < len(text) && text[n] >= '0' && text[n] <= '9' {
			n++
		}
		if n > 0 && n < len(text) && text[n] == '-' {
			text = text[n+1:]
		}
	}
	if len(text) != seqTextSize {
		return Seq{}, false
	}
	var raw [seqSize + 2]byte
	n, err := seqEncoding.Decode(raw[:], []byte(text))
	if err != nil || n != seqSize {
		return Seq{}, false
	}
	s.Incarnation = raw[0]
	copy(s.Versionstamp[:], raw[1:])
	return s, true
}
