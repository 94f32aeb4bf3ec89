package main

import (
	"log/slog"
	"path/filepath"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/pebblekv"
)

func init() {
	engines["pebble"] = func(o appOptions, log *slog.Logger) (kv.Store, error) {
		return pebblekv.Open(filepath.Join(o.dataDir, storeDir), pebblekv.Options{Memory: o.memory, Log: log})
	}
}
