package main

import (
	"context"
	"log/slog"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/moved"
	"github.com/settee-db/settee/views"
)

// identified is an engine on a cluster that can be told from others.
type identified interface {
	Identity(ctx context.Context) ([]byte, error)
}

// settle makes a store usable that was brought here from another cluster, by a restored backup:
// sequences go on growing although this cluster's versionstamps are lower, or lower than those of
// the other one by now. Any number of nodes may do so at the same time, and one that comes when
// another one has settled everything changes nothing. cluster is the engine itself.
func settle(ctx context.Context, engine, cluster kv.Store, store *storage.Store, log *slog.Logger) (err error) {
	home := moved.Home{KV: engine}
	if named, ok := cluster.(identified); ok {
		if home.Cluster, err = named.Identity(ctx); err != nil {
			return err
		}
	}
	is, err := moved.Is(ctx, store, home)
	if err != nil {
		return err
	}
	if !is {
		return home.Keep(ctx)
	}
	log.Info("the data is from another cluster: sequences of all databases get a new beginning")
	if err := jobs.Moved(ctx, engine, keyspace.JobsPrefix()); err != nil {
		return err
	}
	if _, err := engine.Update(ctx, func(tx kv.Tx) error {
		// failed logins are followed in the order of versionstamps
		tx.ClearRange(keyspace.LoginsPrefix(), append(keyspace.LoginsPrefix(), 0xff))
		return nil
	}); err != nil {
		return err
	}
	n, err := moved.Settle(ctx, store, home, views.Moved)
	log.Info("the data from another cluster is settled", "databases", n, "error", err)
	return err
}
