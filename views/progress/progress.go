package progress

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/compat/ejson"
)

// Task is a running build, as _active_tasks shows it.
type Task struct {
	Database     string
	DesignDoc    string // with `_design/`
	Started      int64  // seconds since 1970
	Updated      int64
	ChangesDone  int64
	TotalChanges int64
}

// Progress is the percentage done, 0 to 100.
func (t *Task) Progress() int64 {
	if t.TotalChanges <= 0 {
		return 0
	}
	return min(100, t.ChangesDone*100/t.TotalChanges)
}

// Build is the progress of a build.
type Build struct {
	database, design string
	started          time.Time
	updated          atomic.Int64
	done, total      atomic.Int64
	Report           func() // tells others of progress; may be nil
}

// New is a build that begins now; design is the id of its design document.
func New(database, design string) *Build {
	b := &Build{database: database, design: design, started: time.Now()}
	b.updated.Store(b.started.Unix())
	return b
}

// Begin sets how many changes there are, none of which is done.
func (b *Build) Begin(total int64) {
	b.total.Store(total)
	b.reach(0)
}

// Advance adds changes that are done.
func (b *Build) Advance(changes int64) { b.reach(b.done.Load() + changes) }

// Reach sets how many changes are done, and how many there are, all in all.
func (b *Build) Reach(done, total int64) {
	b.total.Store(total)
	b.reach(done)
}

func (b *Build) reach(changes int64) {
	b.done.Store(changes)
	b.updated.Store(time.Now().Unix())
	if b.Report != nil {
		b.Report()
	}
}

// Show gives the progress as it is now.
func (b *Build) Show() Task {
	return Task{
		Database: b.database, DesignDoc: b.design, Started: b.started.Unix(), Updated: b.updated.Load(),
		ChangesDone: b.done.Load(), TotalChanges: b.total.Load(),
	}
}

// JSON is the progress as a task of _active_tasks (couch_index_updater).
func (b *Build) JSON() []byte {
	shown := b.Show()
	dst := append([]byte(nil), `{"type":"indexer","database":`...)
	dst = ejson.AppendString(dst, shown.Database)
	dst = append(dst, `,"design_document":`...)
	dst = ejson.AppendString(dst, shown.DesignDoc)
	for _, m := range [...]struct {
		name  string
		value int64
	}{{"changes_done", shown.ChangesDone}, {"total_changes", shown.TotalChanges}, {"progress", shown.Progress()}} {
		dst = append(dst, fmt.Sprintf(`,%q:`, m.name)...)
		dst = strconv.AppendInt(dst, m.value, 10)
	}
	return append(dst, '}')
}
