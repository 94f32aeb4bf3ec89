package storage

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWindow(t *testing.T) {
	var w prefetchWindow
	w.begin(0)
	sizes := []int{w.size()}
	for _, bytes := range []int{0, 10, prefetchBytes / 2, 10, prefetchBytes, prefetchBytes + 1, 2 * prefetchBytes} {
		w.took(bytes)
		sizes = append(sizes, w.size())
	}
	require.Equal(t, []int{prefetchFirst, 32, 64, prefetchMost, prefetchMost, prefetchMost, 64, 32}, sizes)
	w.reached(40, 40)
	require.Equal(t, 32, w.size())
	w.reached(5, 32)
	require.Equal(t, 5, w.size())
	w.begin(0)
	require.Equal(t, 1, w.size(), "after a snapshot that became too old")
	w.reached(0, 1)
	w.took(prefetchBytes + 1)
	require.Equal(t, 1, w.size(), "never nothing")
}

func TestWideWindow(t *testing.T) {
	var w prefetchWindow
	w.begin(prefetchFirstWide)
	require.Equal(t, prefetchFirstWide, w.size())
	w.took(prefetchBytes + 1)
	require.Equal(t, prefetchWindow{rows: prefetchFirst / 2, wide: 4 * prefetchFirstWide}, w)
	for range 3 {
		w.took(0)
	}
	require.Equal(t, prefetchMostWide, w.size())
	w.reached(100, prefetchMostWide)
	require.Equal(t, 100, w.size())
	w.begin(prefetchFirstWide)
	require.Equal(t, 25, w.size())
}

func TestTakeMore(t *testing.T) {
	n := 0
	next := func() (int, bool) { n++; return n, n < 5 }
	taken := takeMore(nil, next, 3)
	require.Equal(t, []int{1, 2, 3}, taken)
	require.Equal(t, []int{2, 3, 4}, takeMore(taken[1:], next, 10))
}
