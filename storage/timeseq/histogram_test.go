package timeseq

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
)

// TestHistogram: every update is counted once, in at most 60 bins that ascend, whatever the stretch
// of time; those of the last day are three hours wide.
func TestHistogram(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, step := range []int64{1, 3600, 3 * 3600, 24 * 3600, 400 * 24 * 3600, 20_000 * 24 * 3600} {
		var h Histogram
		second, updates := rng.Int64N(2e9), uint64(rng.IntN(3))
		first := updates
		for range 300 {
			require.NoError(t, h.Add(Mark{Second: second, Updates: updates}))
			second += 1 + rng.Int64N(step)
			updates += 1 + rng.Uint64N(5)
		}
		bins := h.Bins(updates)
		sum := uint64(0)
		for i, b := range bins {
			sum += b.Updates
			require.Zero(t, b.Second%(3*3600), b)
			require.True(t, i == 0 || bins[i-1].Second < b.Second, bins)
		}
		require.Equal(t, updates, sum)
		if first > 0 {
			require.Equal(t, Bin{Updates: first}, bins[0])
			bins = bins[1:]
		}
		require.LessOrEqual(t, len(bins), 60)
		if step == 3*3600 {
			require.LessOrEqual(t, bins[len(bins)-1].Second-bins[len(bins)-2].Second, int64(6*3600))
		}
	}
	require.Empty(t, (&Histogram{}).Bins(7))
}

// TestBefore: it is the sequence just before all that a commit gives out.
func TestBefore(t *testing.T) {
	commit := compat.Seq{Incarnation: 1, Versionstamp: [12]byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 7}}
	before := compat.Seq{Incarnation: 1, Versionstamp: [12]byte{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}}
	require.Equal(t, before, Before(commit))
	commit.Versionstamp[9] = 5
	before = compat.Seq{Incarnation: 1, Versionstamp: [12]byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 4, 0xff, 0xff}}
	require.Equal(t, before, Before(commit))
}

// FuzzMark: what is read as a mark is written the same.
func FuzzMark(f *testing.F) {
	x := Index{Prefix: []byte("p")}
	m := Mark{Second: 1_700_000_000, After: compat.Seq{Incarnation: 1}, Updates: 300}
	f.Add(x.key(m.Second), m.encode())
	f.Fuzz(func(t *testing.T, key, value []byte) {
		m, err := x.parse(key, value)
		if err != nil {
			return
		}
		again, err := x.parse(x.key(m.Second), m.encode())
		require.NoError(t, err)
		require.Equal(t, m, again)
	})
}
