package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/settee-db/settee/cluster/format"
	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

type upgradeOptions struct {
	appOptions
	finalise, force bool
}

// upgradeCommand is "settee upgrade". Installing a new version does not raise the
// format of the store: until the format is raised the older version can still open it.
func upgradeCommand() *cobra.Command {
	var o upgradeOptions
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Tell the format of a store, or raise it to this program's",
		Long: `Tell the format of a store, or raise it to this program's.

Nodes on a FoundationDB cluster are upgraded one after the other: each is stopped, and started with the new version.
Meanwhile all write the store as the old version does, and one can go back. When all have the new version,
"settee upgrade --finalise" raises the format of the store. From then on older versions are refused;
"settee downgrade" may take it back.

Where the new format has other keys or values, they are rewritten first. That can be killed at any point: it goes on at
the next call. No server may run meanwhile. The embedded engine's server is stopped for it anyway.

It is refused while a node with an older version is there. One that was killed is listed for up to two minutes.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return upgrade(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	addStoreFlags(cmd, &o.appOptions)
	cmd.Flags().BoolVar(&o.finalise, "finalise", false, "raise the format")
	cmd.Flags().BoolVar(&o.force, "force", false, "do so although nodes with an older version are there")
	return cmd
}

// openFormat opens a store for those who change its format, and prints what it has. The caller
// closes it.
func openFormat(
	ctx context.Context, o appOptions, out, progress io.Writer,
) (store kv.Store, head format.Head, err error) {
	if store, err = openEngine(o, commandLog(progress)); err != nil {
		return nil, head, err
	}
	if head, err = format.Read(ctx, store, keyspace.HeadKey()); err != nil {
		return nil, head, errors.Join(err, store.Close())
	}
	program := o.formats()
	fmt.Fprintf(out, "The store is of format %d. This program knows the formats %d to %d.\n",
		head.Format, program.Oldest, program.Newest)
	return store, head, nil
}

// upgrade prints the store's format, and raises it if it is asked to.
func upgrade(ctx context.Context, o upgradeOptions, out, progress io.Writer) (err error) {
	store, head, err := openFormat(ctx, o.appOptions, out, progress)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	program := o.formats()
	if head.Format >= program.Newest {
		return nil
	}
	// Nodes that do not know the new format could not work on the store any more.
	behind, err := olderNodes(ctx, store, program)
	switch {
	case err != nil:
		return err
	case !o.finalise:
		fmt.Fprintf(out, "settee upgrade --finalise raises it to %d.\n", program.Newest)
		if len(behind) > 0 {
			fmt.Fprintln(out, "Before, these nodes have to be upgraded:", strings.Join(behind, ", "))
		}
		return nil
	case len(behind) > 0 && !o.force:
		return fmt.Errorf("these nodes do not know format %d: %s", program.Newest, strings.Join(behind, ", "))
	}
	_, head, err = format.Finalise(ctx, store, keyspace.HeadKey(), program, func(from byte, pieces int) {
		fmt.Fprintf(progress, "format %d: %d pieces are rewritten\n", from, pieces)
	})
	if err == nil {
		fmt.Fprintf(out, "The store is of format %d now.\n", head.Format)
	}
	return err
}

// olderNodes are the nodes that do not know the newest format of the program.
func olderNodes(ctx context.Context, store kv.Store, program format.Program) (names []string, err error) {
	list, err := nodes.List(ctx, store, keyspace.NodesPrefix())
	for _, m := range list {
		if m.Format < program.Newest {
			version := cmp.Or(m.Version, "unknown version")
			names = append(names, fmt.Sprintf("%s (%s)", cmp.Or(m.Name, m.Label()), version))
		}
	}
	return names, err
}
