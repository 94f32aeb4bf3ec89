package rights

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func hash(n int) (h Hash) {
	h[0], h[1] = byte(n), byte(n>>8)
	return h
}

func TestCache(t *testing.T) {
	var c Cache
	reads := 0
	object := func(n int) func() ([]byte, error) {
		return func() ([]byte, error) {
			reads++
			return fmt.Appendf(nil, `{"members":{"names":["user %d"],"roles":[]},"pad":%q}`, n,
				strings.Repeat("x", 1<<20)), nil
		}
	}
	first, err := c.Load(hash(0), object(0))
	require.NoError(t, err)
	require.NoError(t, first.Rights.CheckMember("user 0", nil))
	again, err := c.Load(hash(0), object(0))
	require.NoError(t, err)
	require.Same(t, first, again)
	require.Equal(t, 1, reads)

	for n := range 20 {
		_, err := c.Load(hash(n), object(n))
		require.NoError(t, err)
		require.LessOrEqual(t, c.size, Kept)
		require.Len(t, c.order, len(c.list))
	}
	require.Len(t, c.list, 7)
	again, err = c.Load(hash(0), object(0))
	require.NoError(t, err)
	require.NotSame(t, first, again, "forgotten for others")

	c.Forget()
	require.Empty(t, c.list)
	require.Zero(t, c.size)

	failed := errors.New("failed")
	_, err = c.Load(hash(1), func() ([]byte, error) { return nil, failed })
	require.ErrorIs(t, err, failed)
	require.Empty(t, c.list)
	broken, err := c.Load(hash(2), func() ([]byte, error) { return []byte("no object"), nil })
	require.NoError(t, err)
	require.Error(t, broken.Err)
}

// TestLargerThanAll: an object that is larger than what is kept is shared while no other comes.
func TestLargerThanAll(t *testing.T) {
	var c Cache
	large := func() ([]byte, error) { return make([]byte, Kept+1), nil }
	first, err := c.Load(hash(1), large)
	require.NoError(t, err)
	again, err := c.Load(hash(1), large)
	require.NoError(t, err)
	require.Same(t, first, again)
}

func TestParse(t *testing.T) {
	rights, err := Parse(nil)
	require.NoError(t, err)
	require.Error(t, rights.CheckMember("alice", nil), "admins only")
	rights, err = Parse([]byte(`{}`))
	require.NoError(t, err)
	require.NoError(t, rights.CheckMember("alice", nil))
	_, err = Parse([]byte(`[`))
	require.Error(t, err)
}
