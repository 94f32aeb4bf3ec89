package main

import (
	"log/slog"
	"path/filepath"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/pebblekv"
)

func init() {
	engines["pebble"] = func(dir string, log *slog.Logger) (kv.Store, error) {
		return pebblekv.Open(filepath.Join(dir, storeDir), pebblekv.Options{Log: log})
	}
}
