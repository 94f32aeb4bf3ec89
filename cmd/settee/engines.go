package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// opener opens an engine's store as the command line and memory say.
type opener func(o appOptions, log *slog.Logger) (kv.Store, error)

// engines are those of this build; each registers itself in its own file.
var engines = map[string]opener{}

// verifiers read the files of an engine's store, which no process may have open; the error is
// kv.ErrLocked then. They tell progress how many keys and bytes they have seen.
var verifiers = map[string]func(
	ctx context.Context, o appOptions, progress func(keys, bytes int64),
) ([]kv.Damage, error){}

func engineNames() []string { return slices.Sorted(maps.Keys(engines)) }

// limits are the sets of limits an engine can be held to.
var limits = map[string]kv.Limits{"fdb": kv.FDBLimits}

// openEngine opens the engine's store, held to the named limits if any.
func openEngine(o appOptions, log *slog.Logger) (kv.Store, error) {
	open, ok := engines[o.engine]
	if !ok {
		return nil, fmt.Errorf("unknown engine %q, this build has %s", o.engine, strings.Join(engineNames(), ", "))
	}
	held, ok := limits[o.limits]
	if o.limits != "" && !ok {
		return nil, fmt.Errorf("unknown limits %q", o.limits)
	}
	store, err := open(o, log)
	if errors.Is(err, kv.ErrCorrupt) {
		err = fmt.Errorf(
			"%w\nNothing was changed. \"settee salvage %s NEW_DIR\" brings back what can be read into a new data directory",
			err,
			o.dataDir,
		)
	}
	if err == nil && ok {
		store = wrapkv.WithLimits(store, held, time.Now)
	}
	return store, err
}
