package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/settee-db/settee/cluster/format"
	"github.com/settee-db/settee/cluster/logins"
	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/cluster/settings"
	"github.com/settee-db/settee/eventing"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/answers"
	"github.com/settee-db/settee/storage/expiry"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/storage/verify"
	"github.com/settee-db/settee/views"
)

// checkRate is how many megabytes a second a check reads where servers use the store, unless it is
// told another number.
const checkRate = 32

// checkCommand is "settee check". On a shared cluster reads are slowed down to checkRate unless the
// caller says otherwise, because the cluster serves others meanwhile.
func checkCommand() *cobra.Command {
	var o appOptions
	rate := int64(0)
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the databases in a data directory or on a FoundationDB cluster",
		Long: `Check the databases in a data directory or on a FoundationDB cluster.

Servers may go on meanwhile. Of the embedded engine what is checked is the store as it is when the check begins: a server
that has it open gives a copy of it, which takes no space but for what is replaced meanwhile. On a cluster it is checked
range by range, and what looks wrong is looked at again, so that no write that came in between is taken for damage.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("rate") && sharedEngines[o.engine] {
				rate = checkRate
			}
			return check(cmd.Context(), o, rate<<20, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	addStoreFlags(cmd, &o)
	cmd.Flags().Int64Var(&rate, "rate", 0, fmt.Sprintf(
		"megabytes a second to read at most, 0 for no bound (default %d on a FoundationDB cluster)", checkRate))
	return cmd
}

// check verifies what storage/doc.go, views/doc.go, mango/allfields/doc.go, search/doc.go,
// storage/jobs/doc.go, storage/expiry/doc.go, eventing/doc.go and eventing/registry/doc.go promise
// about the store, and prints each violation. rate bounds the bytes that are read a second, 0 does
// not.
func check(ctx context.Context, o appOptions, rate int64, out, progress io.Writer) (err error) {
	missing, err := verifyFiles(ctx, o, rate, out, progress)
	var store kv.Store
	if err == nil {
		store, err = openEngine(o, commandLog(progress))
	}
	if errors.Is(err, kv.ErrLocked) {
		copied, release, err := askForCopy(ctx, o.dataDir)
		if err != nil {
			return err
		}
		defer release()
		o.dataDir = copied
		return check(ctx, o, rate, out, progress)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if engine, ok := store.(interface{ Losses() []string }); ok {
		for _, loss := range engine.Losses() {
			fmt.Fprintln(out, "lost at a start:", loss)
			missing++
		}
	}
	if _, err := format.Open(ctx, store, keyspace.HeadKey(), o.formats()); err != nil {
		return err // what another version wrote would look like damage
	}
	c := checker{store: store, out: out, progress: progress}
	if rate > 0 {
		c.store = wrapkv.Throttled(store, rate)
	}
	if sharedEngines[o.engine] {
		c.again, c.pause = confirmations, confirmationPause
	}
	err = c.run(kv.InBackground(ctx))
	if engine, ok := store.(interface{ Damaged() []string }); ok {
		for _, name := range engine.Damaged() {
			fmt.Fprintf(out, "file %s: something that it has cannot be read\n", name)
			missing++
		}
	}
	switch {
	case missing > 0:
		return errors.Join(err, fmt.Errorf("%d damages or losses: not all that was stored may be there", missing))
	case err == nil:
		fmt.Fprintln(out, "no violations")
	}
	return err
}

// verifyFiles reads the files of a store of the embedded engine one by one, prints what is wrong
// with them and counts it: a check of the content would not read files that no key leads to any
// more, nor blocks that are in a cache.
func verifyFiles(ctx context.Context, o appOptions, rate int64, out, progress io.Writer) (int, error) {
	verify, ok := verifiers[o.engine]
	if !ok {
		return 0, nil
	}
	bar, began := countBar(progress, "reading keys"), time.Now()
	damages, err := verify(ctx, o, func(keys, bytes int64) {
		_ = bar.Set64(keys) // a terminal that cannot be written to does not stop the check
		if rate > 0 {
			time.Sleep(time.Duration(float64(bytes)/float64(rate)*float64(time.Second)) - time.Since(began))
		}
	})
	_ = bar.Finish()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // a new store
	}
	for _, d := range damages {
		fmt.Fprintf(out, "file %s\n", describe(d))
	}
	return len(damages), err
}

// checkStore is check of a store that is open and that nobody writes to.
func checkStore(ctx context.Context, store kv.Store, out, progress io.Writer) error {
	c := checker{store: store, out: out, progress: progress}
	err := c.run(ctx)
	if err == nil {
		fmt.Fprintln(out, "no violations")
	}
	return err
}

const (
	// confirmations is how often what is wrong in a store with writers is looked at again before it
	// is told, after a pause: a violation that is found each time is no effect of a write between
	// two snapshots.
	confirmations     = 3
	confirmationPause = time.Second
)

// checker checks a store, part by part.
type checker struct {
	store         kv.Store
	out, progress io.Writer
	again         int           // how often violations are looked for again, 0 where nobody writes
	pause         time.Duration // before each time
}

// run checks everything. What is above the documents makes sense only where these are right.
func (c *checker) run(ctx context.Context) error {
	if err := c.part(ctx, "the databases", c.documents); err != nil {
		return err
	}
	return errors.Join(
		c.layers(ctx),
		c.keys(ctx, "jobs", keyspace.JobsPrefix(), jobs.Check),
		c.keys(ctx, "nodes", keyspace.NodesPrefix(), nodes.Check),
		c.keys(ctx, "failed logins", keyspace.LoginsPrefix(), logins.Check),
		c.keys(ctx, "kept answers", keyspace.AnswersPrefix(), answers.Check),
		c.keys(ctx, "settings", keyspace.SettingsPrefix(), settings.Check),
	)
}

// part prints what a check finds, each time that it is run; name is what it looks at.
func (c *checker) part(ctx context.Context, name string, find func(context.Context) ([]string, error)) error {
	found, err := find(ctx)
	for n := 0; n < c.again && err == nil && len(found) > 0; n++ {
		select {
		case <-time.After(c.pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		var now []string
		now, err = find(ctx)
		found = slices.DeleteFunc(found, func(text string) bool { return !slices.Contains(now, text) })
	}
	for _, text := range found {
		fmt.Fprintln(c.out, text)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if n := len(found); n > 0 {
		return fmt.Errorf("%d violations in %s", n, name)
	}
	return nil
}

// documents checks package storage's part.
func (c *checker) documents(ctx context.Context) ([]string, error) {
	bar := countBar(c.progress, "checking")
	violations, err := verify.Check(ctx, c.store, func(done, total int64) {
		bar.ChangeMax64(total)
		_ = bar.Set64(done) // a terminal that cannot be written to does not stop the check
	})
	_ = bar.Finish()
	return texts(violations), err
}

// layers verifies what layers above documents keep: the indexes of views, as far as that goes
// without running their functions, those over all fields and of texts, what expires, event
// functions.
func (c *checker) layers(ctx context.Context) (err error) {
	store, err := storage.Open(ctx, storage.Options{KV: c.store, Manual: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return errors.Join(
		checkLayer(ctx, c, store, "indexes", views.Check),
		checkLayer(ctx, c, store, "indexes over all fields", allfields.Check),
		checkLayer(ctx, c, store, "full-text indexes", search.Check),
		checkLayer(ctx, c, store, "expiries", expiry.Check),
		checkLayer(ctx, c, store, "event functions", eventing.Check),
	)
}

// checkLayer checks what a layer keeps; name is what it looks at.
func checkLayer[Violation fmt.Stringer](
	ctx context.Context,
	c *checker,
	store *storage.Store,
	name string,
	check func(context.Context, kv.Store, *storage.Store) ([]Violation, error),
) error {
	return c.part(ctx, name, func(ctx context.Context) ([]string, error) {
		violations, err := check(ctx, c.store, store)
		return texts(violations), err
	})
}

// keys checks the keys below a prefix; name is what they are.
func (c *checker) keys(
	ctx context.Context,
	name string,
	prefix []byte,
	check func(context.Context, kv.Store, []byte) ([]string, error),
) error {
	return c.part(ctx, name, func(ctx context.Context) ([]string, error) { return check(ctx, c.store, prefix) })
}

// texts are violations as lines.
func texts[Violation fmt.Stringer](violations []Violation) []string {
	lines := make([]string, len(violations))
	for i, v := range violations {
		lines[i] = v.String()
	}
	return lines
}
