package again

import (
	"bytes"
	"math"
	"testing"
)

// FuzzNote: what is read of a note is what was written, and nothing else is read.
func FuzzNote(f *testing.F) {
	for _, l := range []Lack{{Terms, 0}, {Worker, 50 << 20}, {Worker, math.MaxInt64}, {255, 1}} {
		f.Add(l.Encode())
	}
	for _, odd := range []string{"", "\x00\x01", "\x01", "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x02\x01\x00"} {
		f.Add([]byte(odd))
	}
	f.Fuzz(func(t *testing.T, note []byte) {
		l, err := parse(note)
		if err != nil {
			return
		}
		if l.Of == 0 || l.Bytes < 0 {
			t.Errorf("%x is read as %+v", note, l)
		}
		if same := l.Encode(); len(same) == len(note) && !bytes.Equal(same, note) {
			t.Errorf("%x is read as %+v, which is %x", note, l, same)
		}
	})
}
