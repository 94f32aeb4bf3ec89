//go:build fdb

package main

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/fdbkv"
)

// The fdb engine keeps its data on a FoundationDB cluster. A file fdb.cluster in the data directory
// names the cluster; without one it is FDB_CLUSTER_FILE's or the client's default.
// SETTEE_FDB_PREFIX lets several independent servers share a cluster.
func init() {
	engines["fdb"] = func(o appOptions, _ *slog.Logger) (kv.Store, error) {
		options := fdbkv.Options{Prefix: os.Getenv("SETTEE_FDB_PREFIX")}
		if file := filepath.Join(o.dataDir, "fdb.cluster"); exists(file) {
			options.ClusterFile = file
		}
		return fdbkv.Open(options)
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
