package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/storage/keyspace"
)

// nodesCommand is "settee nodes". It reads the store itself rather than asking a node, so that it
// also works when none answers.
func nodesCommand() *cobra.Command {
	var o appOptions
	cmd := &cobra.Command{
		Use:   "nodes",
		Short: "List the nodes that serve a FoundationDB cluster",
		Long: `List the nodes that serve a FoundationDB cluster: name, URL for the other nodes, version, how long each
runs, how many requests it answers now (feeds that wait among them), and when it last told that it lives.

A node tells so every second. One that was killed counts as gone after ten seconds, and is listed here for up to
two minutes (while another one runs); one that was stopped is not listed any more. The last column compares the
node's clock with this machine's.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listNodes(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	addStoreFlags(cmd, &o)
	return cmd
}

// listNodes prints the nodes that have a key in the store.
func listNodes(ctx context.Context, o appOptions, out, progress io.Writer) (err error) {
	if engines[o.engine] != nil && !sharedEngines[o.engine] {
		return fmt.Errorf("the engine %s has its data to itself: it has no nodes", o.engine)
	}
	store, err := openEngine(o, commandLog(progress))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	list, err := nodes.List(ctx, store, keyspace.NodesPrefix())
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tADDRESS\tVERSION\tUPTIME\tREQUESTS\tLAST BEAT")
	for _, m := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s ago\n", cmp.Or(m.Name, m.Label()), cmp.Or(m.Address, "-"),
			cmp.Or(m.Version, "-"), m.Beat.Sub(m.Started).Round(time.Second), m.Load,
			max(0, time.Since(m.Beat)).Round(time.Second/10))
	}
	return w.Flush()
}
