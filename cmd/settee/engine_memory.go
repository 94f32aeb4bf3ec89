package main

import (
	"log/slog"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// The memory engine keeps nothing: it is for tests and trials.
func init() {
	engines["memory"] = func(appOptions, *slog.Logger) (kv.Store, error) { return memkv.New(), nil }
}
