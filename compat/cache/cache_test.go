package cache

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestAgainstList: a cache has what a list of entries has that is cut at its old end.
func TestAgainstList(t *testing.T) {
	type item struct{ key, value int }
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 20).Draw(t, "most")
		sized := rapid.Bool().Draw(t, "sized")
		c, size := New[int, int](most), func(key, value int) int { return 1 }
		if sized {
			size = func(key, value int) int { return key + value }
			c = NewSized(most, size)
		}
		var list []item // the one that was used last comes last
		find := func(key int) int { return slices.IndexFunc(list, func(i item) bool { return i.key == key }) }
		add := func(key, value int) {
			list = append(list, item{key, value})
			for total := 0; ; total = 0 {
				for _, i := range list {
					total += size(i.key, i.value)
				}
				if total <= most || len(list) == 1 {
					break
				}
				list = list[1:]
			}
		}
		use := func(at int) int {
			i := list[at]
			list = append(slices.Delete(list, at, at+1), i)
			return i.value
		}
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			key, value := rapid.IntRange(0, 6).Draw(t, "key"), rapid.IntRange(0, 9).Draw(t, "value")
			at := find(key)
			switch rapid.IntRange(0, 9).Draw(t, "call") {
			case 0:
				c.Purge()
				list = nil
			case 1:
				c.Remove(key)
				if at >= 0 {
					list = slices.Delete(list, at, at+1)
				}
			case 2, 3:
				want := value
				if at >= 0 {
					want = use(at)
				} else {
					add(key, value)
				}
				require.Equal(t, want, c.GetOrAdd(key, value))
			case 4, 5, 6:
				got, ok := c.Get(key)
				require.Equal(t, at >= 0, ok)
				if ok {
					require.Equal(t, use(at), got)
				}
			default:
				if at >= 0 {
					list = slices.Delete(list, at, at+1)
				}
				add(key, value)
				c.Add(key, value)
			}
			require.Equal(t, len(list), c.Len())
		}
	})
}

func TestStamped(t *testing.T) {
	c := NewStamped[string, int, string](2)
	c.Add("a", 1, "of 1")
	for stamp, want := range []string{"", "of 1", ""} {
		value, ok := c.Get("a", stamp)
		require.Equal(t, want, value)
		require.Equal(t, want != "", ok)
	}
	c.Add("a", 2, "of 2")
	_, ok := c.Get("a", 1)
	require.False(t, ok, "there is one value of a key")
	for range 2 {
		value, err := c.Load("a", 3, func() (string, error) { return "of 3", nil })
		require.NoError(t, err)
		require.Equal(t, "of 3", value)
	}
	_, err := c.Load("a", 4, func() (string, error) { return "", errors.New("failed") })
	require.Error(t, err)
	_, ok = c.Get("a", 4)
	require.False(t, ok, "what failed is not kept")
}
