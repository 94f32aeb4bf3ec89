package compat

import (
	"cmp"
	"encoding/base64"
	"math"
	"strings"
	"testing"
)

// Sequences are ordered by incarnation, then by versionstamp, as their bytes are.
func TestSeqCompare(t *testing.T) {
	ascending := []Seq{
		{}, {Versionstamp: [12]byte{11: 1}}, {Versionstamp: [12]byte{0, 1}}, {Versionstamp: [12]byte{0xff, 1}},
		{Incarnation: 1}, {Incarnation: 1, Versionstamp: [12]byte{11: 1}}, {Incarnation: 255},
	}
	for i, a := range ascending {
		for j, b := range ascending {
			if got, want := a.Compare(b), cmp.Compare(i, j); got != want || a.Before(b) != (want < 0) {
				t.Errorf("%v with %v: %d, before %v, want %d", a, b, got, a.Before(b), want)
			}
		}
	}
}

// The update_seq of a database is an Erlang term [{Node, [First, Last], {N, Opaque, Node}}], and
// means what it holds.
func TestUpdateSeq(t *testing.T) {
	seq := Seq{Incarnation: 3, Versionstamp: [12]byte{0: 7, 11: 9}}
	opaque := "\x03\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x09"
	for n, number := range map[uint64]string{
		0: "a\x00", 255: "a\xff", 256: "b\x00\x00\x01\x00", math.MaxInt32: "b\x7f\xff\xff\xff",
		1 << 31: "n\x08\x00\x00\x00\x00\x80\x00\x00\x00\x00",
	} {
		text := string(AppendUpdateSeq(nil, n, seq))
		_, encoded, _ := strings.Cut(text, "-")
		term, err := base64.RawURLEncoding.DecodeString(encoded)
		want := "\x83l\x00\x00\x00\x01h\x03d\x00\x06settee" +
			"l\x00\x00\x00\x02a\x00n\x04\x00\xff\xff\xff\xffj" +
			"h\x03" + number + "m\x00\x00\x00\x0d" + opaque + "d\x00\x06settee" + "j"
		if err != nil || string(term) != want {
			t.Errorf("%d: %v, %q, want %q", n, err, term, want)
		}
		for _, since := range []string{text, encoded, `"` + text + `"`, "7-" + encoded} {
			if got, ok := ParseSeq(since); !ok || got != seq {
				t.Errorf("%s: %v, %v", since, got, ok)
			}
		}
		row := string(AppendSeq(nil, n, seq))
		if got, ok := ParseSeq(row); !ok || got != seq || row <= text {
			t.Errorf("%s: %v, %v; clients that compare texts find it before %s", row, got, ok, text)
		}
		for cut := range encoded {
			if got, ok := ParseSeq(encoded[:cut]); ok {
				t.Errorf("%s: %v", encoded[:cut], got)
			}
		}
	}
}

// What was given out before there was a mark is taken for good.
func TestBareSeq(t *testing.T) {
	seq := Seq{Incarnation: 0xd3, Versionstamp: [12]byte{0x5f, 0xbf}}
	const bare = "01-_AAAAAAAAAAAAAA" // looks as if it had a number in front
	for _, since := range []string{bare, "12-" + bare} {
		if got, ok := ParseSeq(since); !ok || got != seq {
			t.Errorf("%s: %v, %v", since, got, ok)
		}
	}
	for _, since := range []string{bare[1:], bare + "A", "s" + bare, "12-"} {
		if got, ok := ParseSeq(since); ok {
			t.Errorf("%s: %v", since, got)
		}
	}
}
