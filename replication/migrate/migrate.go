package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/replication/site"
)

// Options say what is moved.
type Options struct {
	Source, Target *site.Site
	Databases      []string // nil: all but _global_changes and _replicator
	AtOnce         int      // databases copied at once, at least 1
	Workers        int      // of each of them
	BatchSize      int      // documents
	Indexes        bool     // build the indexes of design documents
	Replications   bool     // copy the documents of _replicator in the end, which starts them
	Verify         bool
	// Follow keeps the copy current until Switch is closed and nothing has been written to the
	// source for a while. A nil Switch is never closed: then it goes on until the context ends.
	Follow bool
	Switch <-chan struct{}
	Every  time.Duration // the pause between two looks at the source
	// Deletions has databases that were copied from the source, and are deleted or made anew there,
	// deleted at the target. Only while all databases are followed.
	Deletions bool
	// Progress is called now and then.
	Progress func(Progress)
	// Log takes what an operator should know.
	Log func(msg string, args ...any)
}

// Progress is how far a migration is. Numbers of revisions, counting what earlier runs did.
type Progress struct {
	Step        string
	Done, Total int64 // Total is an estimate
}

// Report is the outcome for one database.
type Report struct {
	Database    string
	Documents   int64 // at the source, deleted ones too
	Written     int64 // revisions, in this run and those it goes on from
	Failures    int64 // revisions that the target refused
	Indexes     int
	Took        time.Duration
	Verified    int64    // revisions compared
	Different   int64    // of documents, permissions and limits
	Differences []string // the first maxDifferences of them, a line each
	Err         error
}

// Migration is one run. Run may be called once.
type Migration struct {
	o         Options
	total     atomic.Int64
	databases []*database
}

// New prepares a migration.
func New(o Options) *Migration { return &Migration{o: o} }

// Run moves everything and reports on each database. An error is of the whole; those of single
// databases are in the reports.
func (m *Migration) Run(ctx context.Context) ([]Report, error) {
	names, err := m.names(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		m.databases = append(m.databases, &database{m: m, name: name, report: Report{Database: name}})
	}
	stop := m.tell("copying")
	err = m.each(ctx, (*database).catchUp)
	stop()
	if err == nil && m.o.Follow {
		err = m.follow(ctx)
	}
	if err == nil && m.o.Replications {
		err = m.replications(ctx)
	}
	if err == nil && m.o.Verify {
		stop := m.tell("comparing")
		err = m.each(ctx, (*database).verify)
		stop()
	}
	reports := make([]Report, len(m.databases))
	for i, d := range m.databases {
		reports[i] = d.report
	}
	return reports, err
}

// names are the databases to be moved: the users last, so that nobody logs in before the data is
// there.
func (m *Migration) names(ctx context.Context) ([]string, error) {
	if m.o.Databases != nil {
		return m.o.Databases, nil
	}
	var names []string
	if err := m.o.Source.GetJSON(ctx, "/_all_dbs", &names); err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "_global_changes" || isReplicator(name) })
	slices.SortStableFunc(names, func(a, b string) int { return rankOf(a) - rankOf(b) })
	return names, nil
}

// rankOf puts the users database behind the others: logins change only when everything else is
// there.
func rankOf(name string) int {
	if name == usersDB {
		return 1
	}
	return 0
}

func isReplicator(name string) bool {
	return name == "_replicator" || strings.HasSuffix(name, "/_replicator")
}

// each does a step for all databases that have not failed, some at once. Only the end of ctx ends
// it early.
func (m *Migration) each(ctx context.Context, step func(*database, context.Context) error) error {
	places := make(chan struct{}, max(m.o.AtOnce, 1))
	var all sync.WaitGroup
	for _, d := range m.databases {
		if d.report.Err != nil {
			continue
		}
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			begun := time.Now()
			err := step(d, ctx)
			d.report.Took += time.Since(begun)
			if err != nil {
				d.report.Err = fmt.Errorf("%s: %w", d.name, err)
			}
		})
	}
	all.Wait()
	return ctx.Err()
}

// tell reports progress until stop is called.
func (m *Migration) tell(step string) (stop func()) {
	if m.o.Progress == nil {
		return func() {}
	}
	done := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		ticker := time.NewTicker(500 * time.Millisecond)
		defer ticker.Stop()
		for {
			p := Progress{Step: step, Total: m.total.Load()}
			for _, d := range m.databases {
				p.Done += d.done(step == "comparing")
			}
			m.o.Progress(p)
			select {
			case <-ticker.C:
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		ended.Wait()
	}
}

// replications copies the documents of replicator databases without their states, so that the
// target begins to run them.
func (m *Migration) replications(ctx context.Context) error {
	var names []string
	if err := m.o.Source.GetJSON(ctx, "/_all_dbs", &names); err != nil {
		return err
	}
	for _, name := range names {
		if !isReplicator(name) {
			continue
		}
		if err := m.replicatorDB(ctx, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// replicatorDB copies the documents of one replicator database, without their revisions and the
// states that the source's scheduler wrote. Design documents stay behind.
func (m *Migration) replicatorDB(ctx context.Context, name string) error {
	var list struct {
		Rows []struct{ Doc map[string]json.RawMessage }
	}
	if err := m.o.Source.GetJSON(ctx, site.DBPath(name)+"/_all_docs?include_docs=true", &list); err != nil {
		return err
	}
	var docs []map[string]json.RawMessage
	var running []string
	for _, row := range list.Rows {
		if bytes.HasPrefix(row.Doc["_id"], []byte(`"_design/`)) {
			continue
		}
		if runs, err := m.runs(ctx, name, row.Doc["_id"]); err != nil {
			return err
		} else if runs {
			running = append(running, string(row.Doc["_id"]))
			continue
		}
		for member := range row.Doc {
			if member == "_rev" || strings.HasPrefix(member, "_replication_") {
				delete(row.Doc, member)
			}
		}
		docs = append(docs, row.Doc)
	}
	if len(docs) > 0 {
		if _, err := createDB(ctx, m.o.Target, name, kind{}); err != nil {
			return err
		}
		body, err := json.Marshal(map[string]any{"docs": docs})
		if err != nil {
			return err
		}
		m.o.Log("replications are copied", "database", name, "documents", len(docs))
		// those that are there already are conflicts, and stay as they are
		err = m.o.Target.Send(ctx, http.MethodPost, site.DBPath(name)+"/_bulk_docs", bytes.NewReader(body))
		if err != nil {
			return err
		}
	}
	if len(running) > 0 {
		return fmt.Errorf("these run at the source and were left there: %s", strings.Join(running, ", "))
	}
	return nil
}

// runs reports whether the source runs the replication of a document now: it would run twice.
func (m *Migration) runs(ctx context.Context, db string, id json.RawMessage) (bool, error) {
	var name string
	if err := json.Unmarshal(id, &name); err != nil {
		return false, err
	}
	var at struct{ State string }
	err := m.o.Source.GetJSON(ctx, "/_scheduler/docs"+site.DBPath(db)+"/"+url.PathEscape(name), &at)
	if _, answered := errors.AsType[*site.Error](err); answered {
		return false, nil // its scheduler knows nothing of it
	}
	return at.State == "running", err
}

// settings are those of a replicator with more in flight.
func (m *Migration) settings() *replication.Settings {
	set := replication.DefaultSettings()
	set.UUID = "settee-migrate" // the checkpoints' names depend on it
	set.WorkerProcesses, set.BatchSize = max(m.o.Workers, 1), max(m.o.BatchSize, 1)
	return &set
}
