package compat

import "testing"

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
