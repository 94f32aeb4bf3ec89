package histogram

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestBuckets: buckets follow each other without a gap, each begins where bound says, and is no wider than an
// eighth of that.
func TestBuckets(t *testing.T) {
	for i := range buckets - 1 {
		from, to := bound(i), bound(i+1)
		require.Less(t, from, to)
		require.Equal(t, i, bucket(from))
		require.Equal(t, i, bucket(to-1))
		require.True(t, to-from == 1 || 8*(to-from) <= from, i)
	}
	require.Equal(t, buckets-1, bucket(math.MaxInt64))
	require.Zero(t, bucket(-1))
}

// durations draws times of all sizes, those at the ends of buckets among them.
var durations = rapid.SliceOf(rapid.OneOf(
	rapid.Int64Range(-5, 20), rapid.Int64Range(0, 1<<40),
	rapid.Custom(func(t *rapid.T) int64 {
		return bound(rapid.IntRange(0, buckets-1).Draw(t, "bucket")) + rapid.Int64Range(-1, 1).Draw(t, "beside")
	}),
))

// TestPercentiles: a percentile is that of the sorted list, and an eighth more at most.
func TestPercentiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := durations.Draw(t, "durations")
		var h Histogram
		for _, us := range list {
			h.Add(time.Duration(us) * time.Microsecond)
		}
		var counted int64
		last := int64(-1)
		h.Each(func(us, n int64) {
			require.Greater(t, us, last)
			counted, last = counted+n, us
		})
		require.EqualValues(t, len(list), counted)
		if len(list) == 0 {
			require.Zero(t, h.Percentile(0.5))
			return
		}
		slices.Sort(list)
		for _, p := range []float64{0, 0.5, 0.9, 0.99, 1} {
			at := max(int(float64(len(list))*p+0.5), 1) - 1
			exact, got := max(list[at], 0), h.Percentile(p)
			require.GreaterOrEqual(t, got, exact, p)
			require.LessOrEqual(t, got, exact+exact/8, p)
		}
		require.Equal(t, max(list[len(list)-1], 0), h.Percentile(1))
	})
}

// TestParts: histograms of parts that are merged, stored and read again are that of the whole; a copy changes
// by itself.
func TestParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var whole, sum Histogram
		for range 3 {
			var part Histogram
			for _, us := range durations.Draw(t, "part") {
				part.Add(time.Duration(us) * time.Microsecond)
				whole.Add(time.Duration(us) * time.Microsecond)
			}
			text, err := json.Marshal(part)
			require.NoError(t, err)
			var again Histogram
			require.NoError(t, json.Unmarshal(text, &again))
			before := sum.Clone()
			kept := before.Clone()
			sum.Merge(&again)
			require.Equal(t, kept, before)
		}
		require.Equal(t, whole.total, sum.total)
		require.Equal(t, whole.most, sum.most)
		require.True(t, slices.Equal(whole.counts, sum.counts))
	})
}

// FuzzUnmarshal: whatever is read is a histogram whose counts add up.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"counts":{"0":1,"319":2,"320":3,"-1":4},"most":9}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var h Histogram
		if h.UnmarshalJSON(text) != nil {
			return
		}
		require.LessOrEqual(t, len(h.counts), buckets)
		h.Percentile(0.5)
		h.Add(time.Second)
		h.Merge(&h)
	})
}
