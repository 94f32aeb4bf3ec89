package compat

import (
	"errors"
	"fmt"
	"testing"
)

func TestParseRange(t *testing.T) {
	// Recorded from CouchDB 3.5.0, or derived from its clauses where a comment says so.
	for _, test := range []struct {
		header string
		size   int64
		want   string
	}{
		{"", 26, "whole"},
		{"bytes=0-4", 26, "[{0 4}]"},
		{"bytes=5-9", 26, "[{5 9}]"},
		{"bytes=20-", 26, "[{20 25}]"},
		{"bytes=-5", 26, "[{21 25}]"},
		{"bytes=0-", 26, "whole"},
		{"bytes=24-99", 26, "[{24 25}]"},
		{"bytes=0-99", 26, "[{0 25}]"},
		{"bytes=5-2", 26, "error"},
		{"bytes=x", 26, "whole"},
		{"bytes=", 26, "[]"},
		{"items=0-3", 26, "whole"},
		{"bytes 0-3", 26, "whole"},
		{"bytes=1-2-3", 26, "whole"},
		{"bytes=-", 26, "whole"},
		{"bytes=a-b", 26, "whole"},
		{"bytes=0-3,", 26, "[{0 3}]"},
		{"Bytes=0-3", 26, "whole"},
		{"bytes= 0-3", 26, "[{0 3}]"},
		{"bytes=10-12", 10, "error"},
		{"bytes=10-", 10, "error"},
		{"bytes=0-", 0, "whole"},
		{"bytes=-9", 10, "[{1 9}]"},
		{"bytes=-10", 10, "[{1 9}]"},
		{"bytes=-99", 10, "[{1 9}]"},
		{"bytes=-0", 10, "error"},
		{"bytes=0-4, 6-7", 26, "[{0 4} {6 7}]"},
		{"bytes=0-1,x", 26, "whole"},
		{"bytes=5-6,3-2", 26, "error"},
		{"bytes=0-,3-4", 26, "whole"},
		{"bytes=0-0,1-1,2-2,3-3,4-4,5-5,6-6,7-7,8-8,9-9", 26, "whole"},
		{"bytes=3--5", 26, "[{3 5}]"}, // derived
		{"bytes=--5", 26, "error"},    // derived
		{"bytes=0-99999999999999999999", 26, "[{0 25}]"},
		{"bytes=99999999999999999999-", 26, "error"},
		{"bytes=-99999999999999999999", 26, "[{1 25}]"},
		{"bytes=-5", 0, "error"},
		{"bytes=0-5", 0, "error"},
	} {
		ranges, whole, err := ParseRange(test.header, test.size)
		got := fmt.Sprint(ranges)
		switch {
		case errors.Is(err, ErrRange):
			got = "error"
		case err != nil:
			got = err.Error()
		case whole:
			got = "whole"
		}
		if got != test.want {
			t.Errorf("%q of %d: got %s, want %s", test.header, test.size, got, test.want)
		}
	}
}

func TestContentRange(t *testing.T) {
	r := ByteRange{From: 5, To: 9}
	if got := string(r.AppendContentRange(nil, 26)); got != "bytes 5-9/26" || r.Len() != 5 {
		t.Error(got, r.Len())
	}
}

func FuzzParseRange(f *testing.F) {
	f.Add("bytes=0-4, 6-7,-3", int64(26))
	f.Add("bytes=--5,+3-", int64(0))
	f.Fuzz(func(t *testing.T, header string, size int64) {
		if size < 0 {
			return
		}
		ranges, whole, err := ParseRange(header, size)
		if (whole || err != nil) && ranges != nil || len(ranges) > maxRanges {
			t.Fatalf("%v %v %v", ranges, whole, err)
		}
		for _, r := range ranges {
			if r.From < 0 || r.To >= size || r.From > r.To {
				t.Fatalf("%q of %d: %v", header, size, r)
			}
		}
	})
}
