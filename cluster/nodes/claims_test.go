package nodes

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestClaims: one process at a time has a name; who waits for it gets it when it is given back, and when its process is
// gone.
func TestClaims(t *testing.T) {
	store, ctx, now := memkv.New(), t.Context(), time.Now()
	a, b := member(store, "a"), member(store, "b")
	require.NoError(t, lookAt(ctx, a, now))
	require.NoError(t, lookAt(ctx, b, now))
	ofA, ofB := NewClaims(store, []byte("claims"), a), NewClaims(store, []byte("claims"), b)
	holder := func(name string) ID {
		t.Helper()
		id, held, err := ofB.Holder(ctx, name)
		require.NoError(t, err)
		require.Equal(t, held, id != ID{})
		return id
	}
	require.Zero(t, holder("x"))
	require.NoError(t, ofA.Take(ctx, "x"))
	require.NoError(t, ofA.Take(ctx, "x"), "it is its own")
	require.NoError(t, ofB.Take(ctx, "y"))
	require.Equal(t, a.self, holder("x"))
	require.NoError(t, ofB.Give(ctx, "x"), "another one's")
	require.Equal(t, a.self, holder("x"))

	waits := func(name string) chan error {
		taken := make(chan error, 1)
		go func() { taken <- ofB.Take(ctx, name) }()
		return taken
	}
	taken := waits("x")
	short, stop := context.WithTimeout(ctx, 20*time.Millisecond)
	defer stop()
	require.ErrorIs(t, ofB.Take(short, "x"), context.DeadlineExceeded)
	require.NoError(t, ofA.Give(ctx, "x"))
	require.NoError(t, <-taken)
	require.Equal(t, b.self, holder("x"))

	require.NoError(t, ofA.Take(ctx, "z"))
	taken = waits("z")
	require.NoError(t, lookAt(ctx, b, now.Add(lease/2)))
	require.Equal(t, a.self, holder("z"))
	require.NoError(t, lookAt(ctx, b, now.Add(lease)), "a has given no sign of life")
	require.NoError(t, <-taken)
	require.Equal(t, b.self, holder("z"))

	violations, err := CheckClaims(ctx, store, []byte("claims"))
	require.NoError(t, err)
	require.Empty(t, violations)
	_, err = store.Update(ctx, func(tx kv.Tx) error {
		tx.Set(ofA.key("bad"), []byte("?"))
		return nil
	})
	require.NoError(t, err)
	violations, err = CheckClaims(ctx, store, []byte("claims"))
	require.NoError(t, err)
	require.Len(t, violations, 1)
}

// TestShare: shares are about even, and only what falls to a process that goes moves.
func TestShare(t *testing.T) {
	live := make([]Member, 4)
	for i := range live {
		live[i].ID[3] = byte(i + 1)
	}
	counts := make(map[ID]int)
	for i := range 4000 {
		name := fmt.Sprint("name", i)
		of := Share(name, live)
		counts[of]++
		if less := Share(name, live[1:]); of != live[0].ID {
			require.Equal(t, of, less)
		}
	}
	for _, m := range live {
		require.InDelta(t, 1000, counts[m.ID], 200)
	}
}
