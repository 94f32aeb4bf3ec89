package mango

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestCachedIndexesAreBounded: lists of indexes are kept up to a number of bytes that counts what
// their patterns take when they are compiled, and the program of an index says that, too.
func TestCachedIndexesAreBounded(t *testing.T) {
	store, err := storage.Open(t.Context(), storage.Options{KV: memkv.New(), Manual: true})
	require.NoError(t, err)
	defer store.Close()
	const pattern = `{"a":{"$regex":"^[ab]{300}[ab]{300}[ab]{300}$"}}`
	definition := `{"fields":{"a":"asc"},"partial_filter_selector":` + pattern + `}`
	m, err := newMapper([]byte(definition))
	require.NoError(t, err)
	require.Greater(t, m.Size(), 250_000)
	body, err := compat.NewBody([]byte(`{"language":"query","views":{"x":{"map":` + definition +
		`,"reduce":"_count","options":{"def":{"fields":["a"],"partial_filter_selector":` + pattern + `}}}}}`))
	require.NoError(t, err)
	var c Catalogue
	for i := range 60 {
		name := fmt.Sprint("db", i)
		require.NoError(t, store.Create(t.Context(), name, storage.CreateOptions{}))
		docs := []*compat.Document{{ID: "_design/x", HasID: true, Body: body}}
		_, err := store.DB(name).Update(t.Context(), docs, storage.UpdateOptions{Trusted: true})
		require.NoError(t, err)
		list, _, err := c.Indexes(t.Context(), store.DB(name))
		require.NoError(t, err)
		require.Len(t, list, 2)
	}
	require.Less(t, c.lists.Len(), 39)
	require.Greater(t, c.lists.Len(), 3)
}
