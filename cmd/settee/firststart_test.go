package main

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/verify"
)

// Any number of nodes may start at once on an empty store: all of them do, as the same store.
func TestNodesStartTogetherOnAnEmptyStore(t *testing.T) {
	for range 30 {
		engine := memkv.New()
		const nodes = 4
		var uuids [nodes][16]byte
		var running sync.WaitGroup
		for n := range nodes {
			running.Go(func() {
				s, err := storage.Open(context.Background(), storage.Options{KV: engine, Manual: true})
				if err == nil {
					uuids[n] = s.UUID()
					err = prepareDatabases(context.Background(), s, "_users")
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		for n := range nodes {
			require.Equal(t, uuids[0], uuids[n])
		}
		s, err := storage.Open(t.Context(), storage.Options{KV: engine, Manual: true})
		require.NoError(t, err)
		var names []string
		require.NoError(t, s.AllDBs(t.Context(), storage.RangeOptions{Limit: -1}, func(name string) error {
			names = append(names, name)
			return nil
		}))
		require.ElementsMatch(t, systemDatabases, names)
		require.NoError(t, documents.EnsureAuthDesign(t.Context(), s.DB("_users")))
		violations, err := verify.Check(t.Context(), engine, nil)
		require.NoError(t, err)
		require.Empty(t, violations)
		require.NoError(t, engine.Close())
	}
}
