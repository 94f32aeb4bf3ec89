package compat

import (
	"cmp"
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
