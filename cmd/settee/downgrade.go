package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/settee-db/settee/cluster/format"
	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/storage/keyspace"
)

type downgradeOptions struct {
	appOptions
	to    int // the format; below 0: only tell
	force bool
}

// downgradeCommand is "settee downgrade", the way back of "settee upgrade --finalise".
func downgradeCommand() *cobra.Command {
	var o downgradeOptions
	cmd := &cobra.Command{
		Use:   "downgrade",
		Short: "Tell whether a store can go back to an older format, or bring it back",
		Long: `Tell whether a store can go back to an older format, or bring it back.

A store whose format has been raised by "settee upgrade --finalise" is refused by older
versions. As long as nothing in it uses what the new format brought, "settee downgrade --to
FORMAT" brings it back to a format that they know. Without --to the command names what stands in
the way; with --to it refuses and names that, and changes nothing.

No server may run on the store meanwhile. It can be killed at any point: it goes on at the next
call, and until it has come to its end no version opens the store.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return downgrade(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	addStoreFlags(cmd, &o.appOptions)
	cmd.Flags().IntVar(&o.to, "to", -1, "the format that the store is to have")
	cmd.Flags().BoolVar(&o.force, "force", false, "do so although nodes are listed that have the store open")
	return cmd
}

// downgrade prints what can be done, or does it, format by format.
func downgrade(ctx context.Context, o downgradeOptions, out, progress io.Writer) (err error) {
	store, head, err := openFormat(ctx, o.appOptions, out, progress)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	key, program := keyspace.HeadKey(), o.formats()
	if o.to < 0 {
		to, what, err := format.InUse(ctx, store, key, program)
		switch {
		case err != nil:
			return err
		case len(what) == 0:
			fmt.Fprintf(out, "settee downgrade --to %d brings it back to format %d.\n", to, to)
		default:
			fmt.Fprintf(out, "Format %d has no place for what is here:\n  %s\n", to, strings.Join(what, "\n  "))
		}
		return nil
	}
	// The embedded engine's directory is open here, so that nobody else has it.
	if list, err := nodes.List(ctx, store, keyspace.NodesPrefix()); err != nil {
		return err
	} else if len(list) > 0 && sharedEngines[o.engine] && !o.force {
		return fmt.Errorf("%d nodes have the store open; stop them (settee nodes lists them)", len(list))
	}
	for int(head.Format) > o.to || head.Reader > head.Format {
		_, head, err = format.Lower(ctx, store, key, program, func(to byte, pieces int) {
			fmt.Fprintf(progress, "to format %d: %d pieces are rewritten\n", to, pieces)
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "The store is of format %d now.\n", head.Format)
	}
	if int(head.Format) < o.to {
		return fmt.Errorf("the store is of format %d, settee upgrade raises it", head.Format)
	}
	return nil
}
