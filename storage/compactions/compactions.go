package compactions

import (
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// Compaction is how far a running compaction is.
type Compaction struct {
	Database       string
	Done, Total    int64 // replaced revisions; Total as of the beginning, so Done may go beyond it
	Began, Updated time.Time
}

// Run is a compaction that runs. Its methods are for concurrent use.
type Run struct {
	database    string
	began       time.Time
	done, total atomic.Int64
	updated     atomic.Int64 // unix seconds
}

// List has the running compactions. The zero List is empty; its methods are for concurrent use.
type List struct {
	mu       sync.Mutex
	running  []*Run
	finished atomic.Int64
	removed  atomic.Int64
}

// Begin adds a compaction of a database.
func (l *List) Begin(database string) *Run {
	r := &Run{database: database, began: time.Now()}
	r.updated.Store(r.began.Unix())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = append(l.running, r)
	return r
}

// End takes a compaction out.
func (l *List) End(run *Run) {
	l.finished.Add(1)
	l.removed.Add(run.done.Load())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = slices.DeleteFunc(l.running, func(r *Run) bool { return r == run })
}

// Expect says how many replaced revisions there are to remove.
func (r *Run) Expect(total int64) { r.total.Store(total) }

// Advance counts replaced revisions that were removed.
func (r *Run) Advance(n int64) {
	r.done.Add(n)
	r.updated.Store(time.Now().Unix())
}

// Has reports whether a compaction of a database runs.
func (l *List) Has(database string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.running, func(r *Run) bool { return r.database == database })
}

// All lists the compactions by database.
func (l *List) All() []Compaction {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Compaction, 0, len(l.running))
	for _, r := range l.running {
		list = append(list, Compaction{
			Database: r.database, Done: r.done.Load(), Total: r.total.Load(),
			Began: r.began, Updated: time.Unix(r.updated.Load(), 0),
		})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Database < list[j].Database })
	return list
}

// Finished is how many compactions have ended, Removed how many replaced revisions those have
// removed.
func (l *List) Finished() int64 { return l.finished.Load() }

// Removed is described at Finished.
func (l *List) Removed() int64 { return l.removed.Load() }
