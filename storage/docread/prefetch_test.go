package docread

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWindow(t *testing.T) {
	var w Window
	w.Begin(0)
	sizes := []int{w.Size()}
	for _, bytes := range []int{0, 10, WindowBytes / 2, 10, WindowBytes, WindowBytes + 1, 2 * WindowBytes} {
		w.Took(bytes)
		sizes = append(sizes, w.Size())
	}
	require.Equal(t, []int{FirstRows, 32, 64, MostRows, MostRows, MostRows, 64, 32}, sizes)
	w.Reached(40, 40)
	require.Equal(t, 32, w.Size())
	w.Reached(5, 32)
	require.Equal(t, 5, w.Size())
	w.Begin(0)
	require.Equal(t, 1, w.Size(), "after a snapshot that became too old")
	w.Reached(0, 1)
	w.Took(WindowBytes + 1)
	require.Equal(t, 1, w.Size(), "never nothing")
}

func TestWideWindow(t *testing.T) {
	var w Window
	w.Begin(FirstWide)
	require.Equal(t, FirstWide, w.Size())
	w.Took(WindowBytes + 1)
	require.Equal(t, Window{Rows: FirstRows / 2, wide: 4 * FirstWide}, w)
	for range 3 {
		w.Took(0)
	}
	require.Equal(t, MostWide, w.Size())
	w.Reached(100, MostWide)
	require.Equal(t, 100, w.Size())
	w.Begin(FirstWide)
	require.Equal(t, 25, w.Size())
}

func TestTakeMore(t *testing.T) {
	n := 0
	next := func() (int, bool) { n++; return n, n < 5 }
	taken := TakeMore(nil, next, 3)
	require.Equal(t, []int{1, 2, 3}, taken)
	require.Equal(t, []int{2, 3, 4}, TakeMore(taken[1:], next, 10))
}
