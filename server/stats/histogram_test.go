package stats

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Four values in the bins of a real 3.5.0, with what it showed of them, up to the last digits of
// skewness and kurtosis.
func TestMoments(t *testing.T) {
	st := &stat{samples: &Histogram{}}
	for _, v := range []float64{5.6, 9.2, 5.1, 5.9} {
		st.samples.Add(v)
	}
	require.Equal(t, `{"n":4,"min":5.0,"max":9.999999999999998,"arithmetic_mean":6.5625,`+
		`"geometric_mean":6.3724237785946425,"harmonic_mean":6.215374195733153,"median":5.75,"variance":2.91796875,`+
		`"standard_deviation":1.708206296089556,"skewness":1.1041079646084784,"kurtosis":-0.7010747138487012,`+
		`"percentile":[[50,5.75],[75,9.0],[90,9.6],[95,9.799999999999999],[99,9.959999999999999],[999,9.995999999999999]],`+
		`"histogram":[[0,0]]}`, string(st.appendValue(nil)))
}

// Values are seen for ten seconds, the last one as long as the first; _prometheus counts all.
func TestHistogramForgets(t *testing.T) {
	var h Histogram
	values := func(now time.Duration) int {
		b := h.at(now)
		return b.summarise().n
	}
	require.Zero(t, values(0))
	h.add(1, 0)
	h.add(2, 900*time.Millisecond)
	h.add(0, 9*time.Second)
	h.add(1e9, 9*time.Second)
	require.Equal(t, 4, values(9999*time.Millisecond))
	require.Equal(t, 2, values(10*time.Second))
	h.add(3, 10*time.Second) // in the place of the first second
	require.Equal(t, 3, values(18*time.Second))
	require.Equal(t, 1, values(19*time.Second))
	require.Zero(t, values(time.Hour))
	count, sum := h.total()
	require.Equal(t, 5, count)
	require.Equal(t, 1+2+1e9+3, sum)
}
