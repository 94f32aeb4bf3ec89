package compat

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"
)

// Seq is the part of a sequence that places it in a database's changes: the incarnation of the
// store, and the versionstamp of the commit. Seqs of one database compare as their bytes do. The
// zero Seq is before all changes.
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

const (
	seqSize = 13
	// seqMark is before them in the opaque part of rows. Their text comes after that of an Erlang
	// term, which begins with `g`: clients that wait for a row whose sequence is not below the
	// database's update_seq compare the texts (follow).
	seqMark = 0xb0
)

// seqEncoding refuses texts whose last character has unused bits set, so that each Seq has one
// text.
var seqEncoding = base64.RawURLEncoding.Strict()

// bareSize is the length of an opaque part without seqMark, as it was before there were others.
var bareSize = seqEncoding.EncodedLen(seqSize)

// AppendSeq appends the wire form `N-opaque` of a sequence: n counts updates, for people and for
// clients that compare numbers; the opaque part alone has the meaning.
func AppendSeq(dst []byte, n uint64, s Seq) []byte {
	var raw [1 + seqSize]byte
	raw[0], raw[1] = seqMark, s.Incarnation
	copy(raw[2:], s.Versionstamp[:])
	dst = strconv.AppendUint(dst, n, 10)
	dst = append(dst, '-')
	return seqEncoding.AppendEncode(dst, raw[:])
}

// The sequence as an Erlang term: [{Node, [0, 16#ffffffff], {N, Opaque, Node}}], one shard that
// covers all. Opaque stands where CouchDB has the incarnation of the shard's file.
const (
	termNode   = "d\x00\x06settee"
	termRange  = "l\x00\x00\x00\x02a\x00n\x04\x00\xff\xff\xff\xffj"
	termHead   = "\x83l\x00\x00\x00\x01h\x03" + termNode + termRange + "h\x03"
	termOpaque = "m\x00\x00\x00\x0d"
	termTail   = termNode + "j"
	termSize   = len(termHead) + 11 + len(termOpaque) + seqSize + len(termTail) // at most: N takes 2, 5 or 11 bytes
)

// AppendUpdateSeq appends a sequence whose opaque part is an Erlang term, as CouchDB's are:
// monitoring tools take the `update_seq` of a database and of a view apart, to show how far the
// view is behind. It means what that of AppendSeq means, and is four times as long.
func AppendUpdateSeq(dst []byte, n uint64, s Seq) []byte {
	term := append(make([]byte, 0, termSize), termHead...)
	switch {
	case n <= math.MaxUint8:
		term = append(term, 'a', byte(n))
	case n <= math.MaxInt32:
		term = binary.BigEndian.AppendUint32(append(term, 'b'), uint32(n))
	default:
		term = binary.LittleEndian.AppendUint64(append(term, 'n', 8, 0), n) // leading zeros pass
	}
	term = append(append(append(term, termOpaque...), s.Incarnation), s.Versionstamp[:]...)
	term = append(term, termTail...)
	return seqEncoding.AppendEncode(append(strconv.AppendUint(dst, n, 10), '-'), term)
}

// Since is a place in the changes given by a client. The zero Since is before all changes.
type Since struct {
	Now   bool  // the end, whatever it is when it is looked at
	Timed bool  // changes at Time or later
	Time  int64 // in seconds since 1970, not negative
	Seq   Seq   // unless Now or Timed: changes after this one
}

// The answers to a `since` that is no sequence, and to one that has the form of a time and is none.
var (
	ErrMalformedSeq = NewError(KindBadRequest, "Malformed sequence supplied in 'since' parameter.")
	ErrInvalidTime  = NewError(KindBadRequest, "invalid_time_format")
)

// ParseSince reads the value of `since`: `0`, `now`, a time of the form 2026-11-27T12:00:00Z, or a
// sequence, of which quotes around it and the number before the opaque part are ignored
// (fabric_view_changes:unpack_seqs). The error is ErrMalformedSeq or ErrInvalidTime.
func ParseSince(text string) (Since, error) {
	switch text {
	case "0":
		return Since{}, nil
	case "now":
		return Since{Now: true}, nil
	}
	if hasTimeForm(text) {
		second, ok := parseTime(text)
		if !ok {
			return Since{}, ErrInvalidTime
		}
		return Since{Timed: true, Time: max(second, 0)}, nil
	}
	s, ok := ParseSeq(text)
	if !ok {
		return Since{}, ErrMalformedSeq
	}
	return Since{Seq: s}, nil
}

// timeForm is the form of times: ? is any byte.
const timeForm = "????-??-??T??:??:??Z"

// hasTimeForm reports whether a text looks like a time as far as its digits go; whether it is one
// is asked later.
func hasTimeForm(text string) bool {
	if len(text) != len(timeForm) {
		return false
	}
	for i := range len(text) {
		if timeForm[i] != '?' && text[i] != timeForm[i] {
			return false
		}
	}
	return true
}

// parseTime reads a text of timeForm, in seconds since 1970. It is as lax as
// calendar:rfc3339_to_system_time: the date must be one, hours, minutes and seconds may be any
// numbers of two characters, also with a sign.
func parseTime(text string) (second int64, ok bool) {
	var fields [6]int
	for i, at := range [...]int{0, 5, 8, 11, 14, 17} {
		length := 2
		if i == 0 {
			length = 4
		}
		n, ok := ErlangInteger(text[at : at+length])
		if !ok {
			return 0, false
		}
		fields[i] = int(n)
	}
	year, month, day := fields[0], time.Month(fields[1]), fields[2]
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	if year < 0 || date.Year() != year || date.Month() != month || date.Day() != day {
		return 0, false
	}
	return date.Unix() + int64(fields[3]*3600+fields[4]*60+fields[5]), true
}

// ParseSeq reads a sequence as ParseSince does, without `0` and `now`.
func ParseSeq(text string) (s Seq, ok bool) {
	text = strings.TrimPrefix(text, `"`)
	text = strings.TrimSuffix(text, `"`)
	// A bare opaque part may itself look as if it had a number in front.
	if len(text) != bareSize {
		n := 0
		for n < len(text) && text[n] >= '0' && text[n] <= '9' {
			n++
		}
		if n > 0 && n < len(text) && text[n] == '-' {
			text = text[n+1:]
		}
	}
	if len(text) > seqEncoding.EncodedLen(termSize) {
		return Seq{}, false
	}
	raw, err := seqEncoding.DecodeString(text)
	if err != nil {
		return Seq{}, false
	}
	if term, ok := bytes.CutPrefix(raw, []byte(termHead)); ok {
		term, ok = bytes.CutSuffix(term, []byte(termTail))
		if !ok || len(term) < len(termOpaque)+seqSize {
			return Seq{}, false
		}
		raw = term[len(term)-seqSize:]
	} else if len(raw) > 0 && raw[0] == seqMark { // no store without the mark had so many incarnations
		raw = raw[1:]
	}
	if len(raw) != seqSize {
		return Seq{}, false
	}
	s.Incarnation = raw[0]
	copy(s.Versionstamp[:], raw[1:])
	return s, true
}
