package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/settee-db/settee/replication/compare"
	"github.com/settee-db/settee/replication/site"
)

// exitError is an error that ends the command with a status of its own.
type exitError struct {
	error
	status int
}

// Unwrap gives the error without the status.
func (e *exitError) Unwrap() error { return e.error }

// comparing is "settee compare" as its flags say. Without a flag all is compared but local
// documents, which replicators of each server write.
type comparing struct {
	compare.Options
	noViews bool
	most    int64
}

// compareCommand is "settee compare". Either URL may be a server's or a database's, but both the
// same kind: the last part of a path is a database.
func compareCommand() *cobra.Command {
	var o comparing
	cmd := &cobra.Command{
		Use:   "compare URL URL",
		Short: "Tell in what two servers, or two databases, differ",
		Long: `Compare two servers that speak CouchDB's protocol, or two databases. A name and password may be
part of a URL, or be in COUCHDB_USER and COUCHDB_PASSWORD. Compared are all leaf revisions of
documents with their bodies, ancestors and digests of attachments, permissions, limits, and views,
row by row and reduced. Nothing is written to either.

Others may write meanwhile: what differs is looked at again, and is a difference only if both sides
stay as they are. The status is 0 if there is no difference in what was asked for, 1 if there are
differences, 2 if something could not be looked at.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.sites(args); err != nil {
				return &exitError{err, 2}
			}
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.noViews, "no-views", false, "leave out views, which the comparison would build")
	f.BoolVar(&o.Local, "local", false, "compare local documents, too")
	f.IntVar(&o.Sample, "sample", 0,
		"look at so many documents of each database, and rows of each view, only")
	f.Uint64Var(&o.Seed, "seed", 1, "which ones: the same seed chooses the same")
	f.DurationVar(&o.Wait, "wait", 2*time.Second,
		"how long to wait before what differs is looked at again")
	f.Int64Var(&o.most, "most", 1000, "how many differences to list; all are counted")
	return cmd
}

// sites reads the URLs. Two databases may have different names, so that a copy can be compared
// with what it was copied from on the same server.
func (o *comparing) sites(urls []string) error {
	sites, names := [2]*site.Site{}, [2]string{}
	for i, text := range urls {
		var err error
		if sites[i], names[i], err = parseSite(text); err != nil {
			return err
		}
	}
	if (names[0] == "") != (names[1] == "") {
		return errors.New("one URL is a server's, the other one a database's")
	}
	o.A, o.B, o.Names = sites[0], sites[1], [2]string{"the first", "the second"}
	if names[0] != "" {
		o.Databases = []compare.Pair{{A: names[0], B: names[1]}}
	}
	return nil
}

// run compares and prints: a line for each difference, then what was looked at and what was not.
func (o *comparing) run(ctx context.Context, out, progress io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	listed, documents := int64(0), 0
	o.Views = !o.noViews
	o.Differs = func(line string) {
		if listed++; listed <= o.most {
			fmt.Fprintln(out, line)
		}
	}
	// Somebody may wait for hours: a sign of life every ten seconds.
	told := time.Now()
	o.Looked = func(n int) {
		if documents += n; time.Since(told) > 10*time.Second {
			told = time.Now()
			fmt.Fprintln(progress, documents, "documents")
		}
	}
	r, err := compare.Run(ctx, o.Options)
	if hidden := listed - o.most; hidden > 0 {
		fmt.Fprintf(out, "and %d more differences\n", hidden)
	}
	fmt.Fprintf(out, "looked at: %d databases, %d documents with %d revisions, %d local documents, "+
		"%d views with %d rows and %d groups\n",
		r.Databases, r.Documents, r.Revisions, r.Local, r.Views, r.Rows, r.Groups)
	for _, line := range r.Omitted {
		fmt.Fprintln(out, "not asked for:", line)
	}
	for _, line := range r.Failed {
		fmt.Fprintln(out, "not looked at:", line)
	}
	// Differences count more than what could not be looked at: they are certain.
	switch {
	case r.Differences > 0:
		return &exitError{errors.Join(err, fmt.Errorf("%d differences", r.Differences)), 1}
	case err != nil:
		return &exitError{err, 2}
	case !r.Complete():
		return &exitError{errors.New("no difference found, but not everything could be looked at"), 2}
	case r.Same():
		fmt.Fprintln(out, "equal")
	default:
		fmt.Fprintln(out, "no difference in what was looked at")
	}
	return nil
}
