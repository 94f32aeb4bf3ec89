package compare

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/settee-db/settee/replication/site"
)

// Options say what is compared.
type Options struct {
	A, B  *site.Site
	Names [2]string // of the sides in messages; the first and the second if empty
	// Databases are compared, by their names on either side; nil: all but _global_changes and
	// _replicator.
	Databases []Pair
	Views     bool // the rows of views, reduced ones too
	Local     bool // local documents
	// Sample is how many documents of each side of a database are looked at, and how many rows of
	// a view; 0: all. The same Seed chooses the same ones as long as nobody writes.
	Sample int
	Seed   uint64
	Wait   time.Duration // between two looks at what differs
	// Differs takes each difference, one at a time; Looked numbers of documents that were looked
	// at. Either may be nil.
	Differs func(line string)
	Looked  func(documents int)
}

// Pair is a database by its name on either side. Names differ where one server has two copies of a
// database.
type Pair struct{ A, B string }

// Report is what was looked at and what was found.
type Report struct {
	Databases, Documents, Revisions, Local, Views, Rows, Groups int64
	// Differences were looked at three times; Unsettled changed as often as they were looked at.
	Differences, Unsettled int64
	Omitted                []string // was not to be looked at
	Failed                 []string // could not be looked at; at most maxNotes, then how many more
	failures               int64
}

// maxNotes is how many lines there are of what could not be looked at.
const maxNotes = 100

// Same reports whether everything was looked at, and is the same.
func (r *Report) Same() bool { return r.Differences == 0 && r.Complete() && len(r.Omitted) == 0 }

// Complete reports whether everything that was asked for was looked at and stood still.
func (r *Report) Complete() bool { return r.Unsettled == 0 && len(r.Failed) == 0 }

// comparison is one run. Its steps follow one another, so that the servers are asked one question
// at a time each: it may run beside applications.
type comparison struct {
	Options
	report Report
}

// Run compares. The error is of the whole, that of a server that does not answer or of ctx; what
// is wrong with a single database is in the report. It may be called concurrently.
func Run(ctx context.Context, o Options) (*Report, error) {
	c := &comparison{Options: o}
	if c.Names == [2]string{} {
		c.Names = [2]string{"the first", "the second"}
	}
	c.omit(!o.Views, "views")
	c.omit(!o.Local, "local documents")
	c.omit(o.Sample > 0,
		fmt.Sprintf("what is not in the sample of %d documents and rows (seed %d)", o.Sample, o.Seed))
	if o.Databases == nil {
		c.omit(true, "_global_changes, _replicator")
		return &c.report, c.server(ctx)
	}
	c.omit(true, "other databases")
	for _, p := range o.Databases {
		if err := c.pair(ctx, p); err != nil {
			return &c.report, err
		}
	}
	return &c.report, nil
}

func (c *comparison) omit(so bool, what string) {
	if so {
		c.report.Omitted = append(c.report.Omitted, what)
	}
}

// database is a database on both sides.
type database struct {
	*comparison
	name string // in messages
	a, b end
}

// end is one of its sides. Its methods are those of a Site, below the database.
type end struct {
	*site.Site
	path string // begins with a slash, escaped
	name string // of the database
}

// pair compares what is asked for of a database that both sides have. Only the end of ctx is an
// error.
func (c *comparison) pair(ctx context.Context, p Pair) error {
	d := &database{
		comparison: c, name: p.A,
		a: end{c.A, site.DBPath(p.A), p.A}, b: end{c.B, site.DBPath(p.B), p.B},
	}
	if p.A != p.B {
		d.name += " and " + p.B
	}
	if both, err := d.exists(ctx); err != nil || !both {
		return d.fail(ctx, err)
	}
	c.report.Databases++
	steps := []func(context.Context) error{d.settings, d.documents}
	if c.Local {
		steps = append(steps, d.localDocuments)
	}
	if c.Views {
		steps = append(steps, d.views)
	}
	for _, step := range steps {
		if err := d.fail(ctx, step(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// fail notes what could not be looked at. The error is that of a context that has ended.
func (d *database) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		d.failed(d.name + ": " + err.Error())
	}
	return nil
}

// failed notes a line of what could not be looked at; beyond maxNotes only how many they are.
func (c *comparison) failed(line string) {
	if c.report.failures++; c.report.failures <= maxNotes {
		c.report.Failed = append(c.report.Failed, line)
		return
	}
	more := fmt.Sprintf("and %d more", c.report.failures-maxNotes)
	c.report.Failed = append(c.report.Failed[:maxNotes], more)
}

// differs reports a difference.
func (c *comparison) differs(line string) {
	c.report.Differences++
	if c.Differs != nil {
		c.Differs(line)
	}
}

// missing is "only at" the side that has something, "" if both or none do.
func (c *comparison) missing(a, b bool) string {
	switch {
	case a && !b:
		return "is only at " + c.Names[0]
	case b && !a:
		return "is only at " + c.Names[1]
	}
	return ""
}

// absent reports whether err is an answer that something is not there.
func absent(err error) bool {
	e, ok := errors.AsType[*site.Error](err)
	return ok && e.Status == 404
}
