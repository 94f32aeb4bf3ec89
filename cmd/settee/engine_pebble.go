package main

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/pebblekv"
)

func init() {
	engines["pebble"] = func(o appOptions, log *slog.Logger) (kv.Store, error) {
		return pebblekv.Open(filepath.Join(o.dataDir, storeDir), pebblekv.Options{Memory: o.memory, Log: log})
	}
	verifiers["pebble"] = func(
		ctx context.Context, o appOptions, progress func(keys, bytes int64),
	) ([]kv.Damage, error) {
		r, err := pebblekv.Verify(ctx, filepath.Join(o.dataDir, storeDir), progress)
		return r.Damages, err
	}
}
