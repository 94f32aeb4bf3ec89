package stats

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestInterval: the ranks are those of the sorted times since the last look, as exactly as bins
// tell them apart (an eighth), and of nothing else.
func TestInterval(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var interval Interval
	for bin := range interval.counts { // as after four billion answers
		interval.counts[bin].Store(1<<32 - 3)
		interval.seen[bin] = 1<<32 - 3
	}
	_, ok := interval.Ranks(.5)
	require.False(t, ok)
	for range 20 {
		times := make([]float64, 1+random.IntN(2000))
		scale := 1 << random.IntN(20)
		for i := range times {
			took := time.Duration(100+random.IntN(1000)*scale) * time.Microsecond
			interval.Took(took)
			times[i] = float64(took.Microseconds()) / 1000
		}
		slices.Sort(times)
		parts := []float64{0, .5, .95, .99}
		ranks, ok := interval.Ranks(parts...)
		require.True(t, ok)
		for i, part := range parts {
			want := times[int(part*float64(len(times)))]
			require.InEpsilon(t, want, ranks[i], .126, "%v of %d", part, len(times))
		}
	}
	_, ok = interval.Ranks(.5)
	require.False(t, ok)
}
