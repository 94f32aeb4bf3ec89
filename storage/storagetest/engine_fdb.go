//go:build fdb

package storagetest

import (
	"context"
	"crypto/rand"
	"os"
	"testing"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/fdbkv"
)

// With the tag fdb and a cluster, tests run on FoundationDB as well.
func init() {
	if os.Getenv("FDB_CLUSTER_FILE") != "" {
		Engines["fdb"] = openFDB
	}
}

// openFDB opens a store below a prefix of its own, which is cleared when the test ends.
func openFDB(t testing.TB) kv.Store {
	options := fdbkv.Options{Prefix: "test-settee/" + rand.Text()[:12]}
	store, err := fdbkv.Open(options)
	Must(t, err)
	t.Cleanup(func() {
		store, err := fdbkv.Open(options) // the test has closed its own
		Must(t, err)
		_, err = store.Update(context.Background(), func(tx kv.Tx) error {
			tx.ClearRange(nil, []byte{0xff})
			return nil
		})
		Must(t, err)
		Must(t, store.Close())
	})
	return store
}
