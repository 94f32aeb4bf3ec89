package segment

import (
	"math"
	"testing"
)

// TestNorms: bytes are those of Lucene's SmallFloat.
func TestNorms(t *testing.T) {
	for length, want := range map[int32]byte{0: 0, 1: 1, 23: 23, 24: 24, 39: 39, 40: 40, 41: 40, 42: 41, 1000: 87,
		math.MaxInt32: 255} {
		if got := lengthNorm(length); got != want {
			t.Errorf("length %d is %d, want %d", length, got, want)
		}
	}
	for norm := range 256 {
		if got := lengthNorm(NormLength(byte(norm))); got != byte(norm) {
			t.Errorf("%d is a length of %d, whose norm is %d", norm, NormLength(byte(norm)), got)
		}
	}
	for _, c := range []struct {
		boost  float32
		length int32
		want   byte
		factor float32
	}{{1, 1, 124, 1}, {1, 4, 120, 0.5}, {1, 3, 120, 0.5}, {2, 1, 128, 2}, {1, 100, 110, 0.09375}, {0, 1, 1,
		5.820766e-10}} {
		if got := boostNorm(c.boost, c.length); got != c.want || NormFactor(got) != c.factor {
			t.Errorf("%v/sqrt(%d) is %d, %v, want %d, %v", c.boost, c.length, got, NormFactor(got), c.want, c.factor)
		}
	}
}
