package reshard

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

var prefix = []byte{0x15, 11}

func made(n int) Job {
	return Job{
		ID: fmt.Sprintf("001-%04d", n), Node: "couchdb@a", DB: "db/ü", Created: time.UnixMilli(1_700_000_000_123),
		Source: "shards/00000000-ffffffff/db/ü.1700000000", Targets: [2]string{"a", "b"},
		Done: time.UnixMilli(int64(n)).UTC(),
	}
}

// TestJobs: what one process keeps others read, in the order of ids, also where a snapshot has only some of them.
func TestJobs(t *testing.T) {
	store := faultkv.New(memkv.New(), faultkv.Plan{
		TooOld: func(r faultkv.Read) bool { return !r.Update && r.N > 900 },
	})
	defer store.Close()
	here, there := New(store, prefix), New(store, prefix)
	var jobs []Job
	for n := range 2500 {
		jobs = append(jobs, made(n))
	}
	shuffled := slices.Clone(jobs)
	slices.Reverse(shuffled)
	require.NoError(t, here.Add(t.Context(), shuffled))
	list, err := there.List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, len(jobs))
	for i, j := range list {
		require.True(t, j.Created.Equal(jobs[i].Created))
		j.Created = jobs[i].Created
		require.Equal(t, jobs[i], j)
	}
	var ids []string
	for _, j := range jobs[1:] {
		ids = append(ids, j.ID)
	}
	require.NoError(t, there.Remove(t.Context(), append(ids, "none")...))
	list, err = here.List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	_, found, err := here.Get(t.Context(), jobs[0].ID)
	require.NoError(t, err)
	require.True(t, found)
	_, found, err = here.Get(t.Context(), jobs[1].ID)
	require.NoError(t, err)
	require.False(t, found)
}

// TestState: it is one for all processes, and the first reason stays, an empty one too.
func TestState(t *testing.T) {
	store := memkv.New()
	defer store.Close()
	here, there := New(store, prefix), New(store, prefix)
	state := func() string {
		stopped, reason, err := there.Stopped(t.Context())
		require.NoError(t, err)
		return fmt.Sprint(stopped, " ", reason)
	}
	require.Equal(t, "false ", state())
	require.NoError(t, here.Stop(t.Context(), "why"))
	require.NoError(t, there.Stop(t.Context(), "because"))
	require.Equal(t, "true why", state())
	require.NoError(t, there.Start(t.Context()))
	require.Equal(t, "false ", state())
	require.NoError(t, here.Stop(t.Context(), ""))
	require.Equal(t, "true ", state())
	require.NoError(t, there.Add(t.Context(), []Job{made(1)}))
	list, err := there.List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1, "the state is no job")
}

// TestCheck finds what no code of ours writes, and reading it is an error.
func TestCheck(t *testing.T) {
	store := memkv.New()
	defer store.Close()
	jobs := New(store, prefix)
	require.NoError(t, jobs.Stop(t.Context(), "{"))
	require.NoError(t, jobs.Add(t.Context(), []Job{made(1)}))
	found, err := Check(t.Context(), store, prefix)
	require.NoError(t, err)
	require.Empty(t, found)
	_, err = store.Update(t.Context(), func(tx kv.Tx) error {
		tx.Set(jobs.key("broken"), []byte(`{"id":`))
		tx.Set(jobs.key("other"), []byte(`{"id":"another"}`))
		tx.Set(append(slices.Clone(prefix), 7), nil)
		return nil
	})
	require.NoError(t, err)
	found, err = Check(t.Context(), store, prefix)
	require.NoError(t, err)
	require.Len(t, found, 3, strings.Join(found, "\n"))
	_, err = jobs.List(t.Context())
	require.True(t, errors.Is(err, kv.ErrCorrupt), "%v", err)
}
