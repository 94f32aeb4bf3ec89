package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/settee-db/settee/replication/migrate"
	"github.com/settee-db/settee/replication/site"
)

// migrateCommand is "settee migrate". A path in a URL belongs to the server, not to a database,
// because whole servers are moved; databases are chosen by --db.
func migrateCommand() *cobra.Command {
	var o migrate.Options
	var to string
	var doSwitch, back, noIndexes bool
	var files fileMigration
	cmd := &cobra.Command{
		Use:   "migrate SOURCE | --from-data DIR [DIR...]",
		Short: "Move the databases of a CouchDB to settee",
		Long: `Move the databases of a running CouchDB to a running settee: documents with all revisions, users,
permissions, limits, design documents with their indexes built. SOURCE and --to are URLs with an
administrator's name and password; those of --to may be in COUCHDB_USER and COUCHDB_PASSWORD.

It can be stopped at any time and goes on where it was. With --follow it keeps the copy current
until it is stopped: new databases, changed permissions, databases that are deleted or made anew.
With --switch it does so until Enter or Ctrl-C says that the applications write to the source no
more, waits until nothing comes, and ends. With --verify every revision of both sides is compared
in the end.

--back changes the direction: what is written to the settee at --to is replicated to SOURCE, so
that the old server can be gone back to. It follows, too, and deletes no databases.

With --from-data it reads the data directory of a CouchDB 0.10 to 3.5 instead, which may run or
not, and writes the store in --data, which no server may use meanwhile, or with --to into a settee
that runs: documents with all revisions, lines and attachments, local documents, permissions,
limits. Of a cluster the directories of all nodes are given. It can be repeated, and goes on.
Damages are listed, a line each, and end the command with status 1: at the first one, with
--skip-damaged at the end. --check-only reads and compares all that has a checksum, and writes
nothing. Replicators and PouchDB's clients go on from the checkpoints that they have in the
databases.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(files.dirs) > 0 {
				return nil
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(files.dirs) > 0 {
				files.dirs, files.databases = append(files.dirs, args...), o.Databases
				files.out, files.progress = cmd.OutOrStdout(), cmd.ErrOrStderr()
				if cmd.Flags().Changed("to") {
					if files.to, err = serverSite(to); err != nil {
						return err
					}
				}
				return files.run(cmd.Context())
			}
			var db string
			if o.Source, db, err = site.Parse(args[0]); err != nil {
				return err
			}
			if db != "" {
				o.Source.Base += "/" + db // a server below a path
			}
			if o.Target, err = serverSite(to); err != nil {
				return err
			}
			o.Indexes = !noIndexes
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			m := migration{out: cmd.OutOrStdout(), errors: cmd.ErrOrStderr()}
			o.Progress, o.Log = m.progress, m.log
			o.Follow = o.Follow || doSwitch || back
			// On the way back a database that is missing here may be one that was never moved.
			o.Deletions = o.Follow && !back && o.Databases == nil
			if back {
				o.Source, o.Target, o.Indexes = o.Target, o.Source, false
			}
			if doSwitch {
				o.Switch = m.switching(ctx, cmd.InOrStdin())
			}
			begun := time.Now()
			reports, err := migrate.New(o).Run(ctx)
			m.endBar()
			return errors.Join(err, m.report(reports, o.Verify, time.Since(begun)))
		},
	}
	files.fromDataFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&to, "to", "http://127.0.0.1:5984", "URL of the settee")
	f.StringSliceVar(&o.Databases, "db", nil, "databases to move (default: all)")
	f.BoolVar(&o.Follow, "follow", false, "keep the copy current until it is stopped")
	f.BoolVar(&doSwitch, "switch", false,
		"keep it current until Enter or Ctrl-C, and make it complete")
	f.BoolVar(&back, "back", false, "keep SOURCE current with what is written to the settee")
	f.DurationVar(&o.Every, "every", time.Second, "how often to look for what is new while following")
	f.BoolVar(&o.Verify, "verify", false, "compare both sides in the end")
	f.BoolVar(&o.Replications, "replications", false, "copy the documents of _replicator in the end, which starts them")
	f.BoolVar(&noIndexes, "no-indexes", false, "leave indexes to be built by the first query")
	f.IntVar(&o.AtOnce, "at-once", 2, "databases copied at once")
	f.IntVar(&o.Workers, "workers", 4, "batches of a database in flight")
	f.IntVar(&o.BatchSize, "batch", 1000, "documents of a batch")
	cmd.MarkFlagsMutuallyExclusive("data", "to")
	return cmd
}

// serverSite is a server, which may be below a path; its credentials may be in the environment.
func serverSite(text string) (*site.Site, error) {
	s, path, err := parseSite(text)
	if err == nil && path != "" {
		s.Base += "/" + path
	}
	return s, err
}

// migration talks to the operator.
type migration struct {
	out, errors io.Writer
	bar         *progressbar.ProgressBar
	step        string
}

// progress shows a step; a new step begins another bar.
func (m *migration) progress(p migrate.Progress) {
	if p.Step != m.step {
		m.endBar()
		m.step = p.Step
		m.bar = progressbar.NewOptions64(max(p.Total, 1), progressbar.OptionSetWriter(m.errors),
			progressbar.OptionSetDescription(p.Step), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
			progressbar.OptionSetItsString("revisions"), progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetVisibility(isTerminal(m.errors)))
	}
	m.bar.ChangeMax64(max(p.Total, p.Done, 1))
	_ = m.bar.Set64(p.Done) // only the terminal
}

func (m *migration) endBar() {
	if m.bar != nil {
		_ = m.bar.Finish()
		fmt.Fprintln(m.errors)
	}
	m.bar, m.step = nil, ""
}

func (m *migration) log(msg string, args ...any) {
	fmt.Fprintln(m.errors, append([]any{msg}, args...)...)
}

// switching is closed by a line of input or an interrupt. A second interrupt ends the command.
func (m *migration) switching(ctx context.Context, in io.Reader) <-chan struct{} {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	context.AfterFunc(ctx, stop)
	// A read of standard input cannot be broken off: it ends with the input, or with the process.
	go func() {
		if _, err := bufio.NewReader(in).ReadString('\n'); err == nil {
			stop()
		}
	}()
	fmt.Fprintln(m.errors, "Press Enter when nobody writes to the source any more.")
	return ctx.Done()
}

// report prints what became of each database. Differences and failures are an error.
func (m *migration) report(reports []migrate.Report, verified bool, took time.Duration) error {
	w := tabwriter.NewWriter(m.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "database\tdocuments\tcopied\trefused\tindexes\tcompared\tdifferent\ttime\t")
	bad := 0
	var documents, copied int64
	for i := range reports {
		r := &reports[i]
		documents, copied = documents+r.Documents, copied+r.Written
		compared := "-"
		if verified {
			compared = fmt.Sprint(r.Verified)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\t%d\t%s\t\n", r.Database, r.Documents, r.Written, r.Failures, r.Indexes,
			compared, r.Different, r.Took.Round(time.Millisecond))
		if r.Err != nil || r.Failures > 0 || r.Different > 0 {
			bad++
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(m.out, "%d databases, %d documents, %d revisions in %s\n", len(reports), documents, copied,
		took.Round(time.Millisecond))
	var all []error
	for i := range reports {
		for _, d := range reports[i].Differences {
			fmt.Fprintln(m.out, d)
		}
		all = append(all, reports[i].Err)
	}
	if bad > 0 {
		all = append(all, fmt.Errorf("%d databases are not complete", bad))
	}
	return errors.Join(all...)
}
