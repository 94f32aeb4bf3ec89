package storage

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Compaction is a running compaction of this process.
type Compaction struct {
	Database       string
	Done, Total    int64 // replaced revisions; Total as of the beginning, so Done may go beyond it
	Began, Updated time.Time
}

// compaction is a Compaction that moves.
type compaction struct {
	name        string
	began       time.Time
	done, total atomic.Int64
	updated     atomic.Int64 // unix seconds
}

// compactions are the running compactions of this process.
type compactions struct {
	mu       sync.Mutex
	running  []*compaction
	finished atomic.Int64
	removed  atomic.Int64 // entries, by all of them
}

func (c *compactions) begin(name string) *compaction {
	run := &compaction{name: name, began: time.Now()}
	run.updated.Store(run.began.Unix())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = append(c.running, run)
	return run
}

func (c *compactions) end(run *compaction) {
	c.finished.Add(1)
	c.removed.Add(run.done.Load())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = slices.DeleteFunc(c.running, func(r *compaction) bool { return r == run })
}

// advance counts entries that were removed.
func (r *compaction) advance(n int64) {
	r.done.Add(n)
	r.updated.Store(time.Now().Unix())
}

// compactRunning is Info.CompactRunning.
func (db *DB) compactRunning() bool {
	c := &db.store.bg.compactions
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.running, func(r *compaction) bool { return r.name == db.name })
}

// Compactions lists the compactions that this process is at, by database.
func (s *Store) Compactions() []Compaction {
	c := &s.bg.compactions
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]Compaction, 0, len(c.running))
	for _, r := range c.running {
		list = append(list, Compaction{
			Database: r.name, Done: r.done.Load(), Total: r.total.Load(),
			Began: r.began, Updated: time.Unix(r.updated.Load(), 0),
		})
	}
	slices.SortFunc(list, func(a, b Compaction) int { return strings.Compare(a.Database, b.Database) })
	return list
}
