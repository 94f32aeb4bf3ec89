package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/settee-db/settee/eventing"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/server/config/shared"
	"github.com/settee-db/settee/server/logins"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/expiry"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/nodes"
	"github.com/settee-db/settee/views"
)

func checkCommand() *cobra.Command {
	var o appOptions
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the databases in a data directory that no server uses",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return check(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	addStoreFlags(cmd, &o)
	return cmd
}

// check verifies what storage/doc.go, views/doc.go, mango/allfields/doc.go, search/doc.go, storage/jobs/doc.go,
// storage/expiry/doc.go, eventing/doc.go and eventing/registry/doc.go promise about the store, and prints each
// violation.
func check(ctx context.Context, o appOptions, out, progress io.Writer) (err error) {
	store, err := openEngine(o, commandLog(progress))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if engine, ok := store.(interface{ Losses() []string }); ok {
		for _, loss := range engine.Losses() {
			fmt.Fprintln(out, "lost at a start:", loss)
		}
	}
	return checkStore(ctx, store, out, progress)
}

// checkStore is check of a store that is open.
func checkStore(ctx context.Context, store kv.Store, out, progress io.Writer) error {
	bar := countBar(progress, "checking")
	violations, err := storage.Check(ctx, store, func(done, total int64) {
		bar.ChangeMax64(total)
		_ = bar.Set64(done) // a terminal that cannot be written to does not stop the check
	})
	_ = bar.Finish()
	if err != nil {
		return err
	}
	for _, v := range violations {
		fmt.Fprintln(out, v)
	}
	if n := len(violations); n > 0 {
		return fmt.Errorf("%d violations", n)
	}
	err = errors.Join(
		checkLayers(ctx, store, out),
		checkKeys(ctx, store, out, "jobs", storage.JobsPrefix(), jobs.Check),
		checkKeys(ctx, store, out, "nodes", storage.NodesPrefix(), nodes.Check),
		checkKeys(ctx, store, out, "failed logins", storage.LoginsPrefix(), logins.Check),
		checkKeys(ctx, store, out, "settings", storage.SettingsPrefix(), shared.Check),
	)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "no violations")
	return nil
}

// checkLayers verifies what layers above documents keep: the indexes of views, as far as that goes without running
// their functions, those over all fields, what expires, event functions.
func checkLayers(ctx context.Context, engine kv.Store, out io.Writer) (err error) {
	store, err := storage.Open(ctx, storage.Options{KV: engine, Manual: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return errors.Join(
		checkLayer(ctx, engine, store, out, "indexes", views.Check),
		checkLayer(ctx, engine, store, out, "indexes over all fields", allfields.Check),
		checkLayer(ctx, engine, store, out, "full-text indexes", search.Check),
		checkLayer(ctx, engine, store, out, "expiries", expiry.Check),
		checkLayer(ctx, engine, store, out, "event functions", eventing.Check),
	)
}

// checkLayer prints what one check finds; name is what it looks at.
func checkLayer[Violation any](
	ctx context.Context,
	engine kv.Store,
	store *storage.Store,
	out io.Writer,
	name string,
	check func(context.Context, kv.Store, *storage.Store) ([]Violation, error),
) error {
	violations, err := check(ctx, engine, store)
	for _, v := range violations {
		fmt.Fprintln(out, v)
	}
	if n := len(violations); n > 0 && err == nil {
		err = fmt.Errorf("%d violations in %s", n, name)
	}
	return err
}

// checkKeys prints what a check of the keys below a prefix finds; name is what it looks at.
func checkKeys(
	ctx context.Context,
	engine kv.Store,
	out io.Writer,
	name string,
	prefix []byte,
	check func(context.Context, kv.Store, []byte) ([]string, error),
) error {
	violations, err := check(ctx, engine, prefix)
	for _, v := range violations {
		fmt.Fprintln(out, v)
	}
	if n := len(violations); n > 0 && err == nil {
		err = fmt.Errorf("%d violations in %s", n, name)
	}
	return err
}
