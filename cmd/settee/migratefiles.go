package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/replication/site"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/couchfile"
	"github.com/settee-db/settee/storage/couchimport"
)

// fileMigration is "settee migrate --from-data": it reads the files of a CouchDB.
type fileMigration struct {
	dirs, databases []string
	checkOnly, skip bool
	inis            []string // of the CouchDB
	store           appOptions
	to              *site.Site // a settee that runs, in the place of the store; nil: the store
	out, progress   io.Writer
}

// fromDataFlags adds the flags that only a migration from files has.
func (m *fileMigration) fromDataFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&m.dirs, "from-data", nil,
		"read the data directory of a CouchDB, running or not, instead of asking a server; of a cluster that of each node")
	f.BoolVar(&m.checkOnly, "check-only", false, "with --from-data: read and check everything, and write nothing")
	f.BoolVar(&m.skip, "skip-damaged", false, "with --from-data: go on behind what cannot be read")
	f.StringArrayVar(&m.inis, "config", nil,
		"with --from-data: ini files of the CouchDB, whose administrators, secret and uuid are taken over")
	addStoreFlags(cmd, &m.store)
}

var errDamaged = errors.New("something could not be read")

// run reads all databases, and writes them. What was damaged is printed, and ends in an error in any
// case: at the first damage, but with skip or where nothing is written at the end.
func (m *fileMigration) run(ctx context.Context) (err error) {
	settings, err := config.Load(config.Stock(), m.inis...)
	if err != nil {
		return err
	}
	shards := settings.String("mem3", "shards_db")
	if shards == "" {
		shards = "_dbs"
	}
	layout, err := couchfile.Directories(m.dirs, shards)
	if err != nil {
		return err
	}
	for _, what := range layout.LeftOut {
		fmt.Fprintln(m.out, "left out", what)
	}
	damages := 0
	damaged := func(d *couchfile.Damage) error {
		damages++
		fmt.Fprintln(m.out, "damaged", d)
		if m.skip || m.checkOnly {
			return nil
		}
		return errDamaged
	}
	for _, d := range layout.Damages {
		if err := damaged(d); err != nil {
			return err
		}
	}
	var to couchimport.Target
	switch {
	case m.checkOnly:
	case m.to != nil:
		to = running{m.to}
	default:
		log := commandLog(m.progress)
		engine, err := openEngine(m.store, log)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, engine.Close()) }()
		so := storage.Options{KV: engine, Program: m.store.formats(), Manual: true}
		store, err := storage.Open(ctx, so)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, store.Close()) }()
		to = couchimport.Store(store)
	}
	if err := m.each(ctx, layout, to, damaged); err != nil {
		return err
	}
	if to != nil && m.to == nil {
		if err := m.takeSettings(settings); err != nil {
			return err
		}
	}
	if damages > 0 {
		return fmt.Errorf("%w: %d damages, each in a line above", errDamaged, damages)
	}
	return nil
}

// each moves the databases that are wanted, one after the other, and prints a table of them.
func (m *fileMigration) each(
	ctx context.Context,
	layout *couchfile.Layout,
	to couchimport.Target,
	damaged func(*couchfile.Damage) error,
) error {
	for _, name := range m.databases {
		if !slices.ContainsFunc(layout.Databases, func(d couchfile.Database) bool { return d.Name == name }) {
			return fmt.Errorf("there is no database %s", name)
		}
	}
	table := tabwriter.NewWriter(m.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "database\tdocuments\trevisions\tattachments\tlocal\tcheckpoints\tdamages\ttime\t")
	var failed error
	for i := range layout.Databases {
		d := &layout.Databases[i]
		if d.Name == storage.GlobalChanges || len(m.databases) > 0 && !slices.Contains(m.databases, d.Name) {
			continue
		}
		begun := time.Now()
		bar := progressbar.NewOptions64(max(couchimport.Total(d), 1), progressbar.OptionSetWriter(m.progress),
			progressbar.OptionSetDescription(d.Name), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
			progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetVisibility(isTerminal(m.progress)))
		report, err := couchimport.Database(ctx, d, couchimport.Options{
			To: to, Damaged: damaged,
			Progress: func(n int64) { _ = bar.Set64(n) }, // only the terminal
		})
		_ = bar.Finish()
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t\n", d.Name, report.Total, report.Revisions,
			report.Attachments, report.LocalDocs, report.Checkpoints, report.Damages,
			time.Since(begun).Round(time.Millisecond))
		if err != nil {
			failed = fmt.Errorf("database %s: %w", d.Name, err)
			break
		}
	}
	return errors.Join(failed, table.Flush())
}

// taken are the settings of a CouchDB that clients would miss: who the administrators are, which
// cookies are valid, and what the ids of replications are made of.
var taken = [...]struct{ section, key string }{
	{"couchdb", "uuid"}, {"couch_httpd_auth", "secret"}, {"chttpd_auth", "secret"}, {"admins", ""},
}

// takeSettings writes them to the data directory's ini file, where that does not have them.
func (m *fileMigration) takeSettings(from *config.Config) error {
	if len(m.inis) == 0 {
		return nil
	}
	to, err := config.Load(config.Stock(), filepath.Join(m.store.dataDir, localFile))
	if err != nil {
		return err
	}
	for _, t := range taken {
		for key, value := range from.Section(t.section) {
			if t.key != "" && t.key != key {
				continue
			}
			if _, there := to.Get(t.section, key); there || value == "" {
				continue
			}
			if _, err := to.Set(t.section, key, value, true); err != nil {
				return err
			}
		}
	}
	return nil
}
