package pebblekv

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// quietTick is how often the scheduler looks how much was written.
	quietTick = 100 * time.Millisecond
	// busyBytes are written in a tick at least while writers count as busy: 10 MB a second.
	busyBytes = 1 << 20
	// quietTicks are how many ticks in a row without so much end that.
	quietTicks = 3
	// patientSublevels is up to how many sublevels of L0 compactions wait for busy writers. Each is
	// one place more for a read to look.
	patientSublevels = 10
)

// compactions says when Pebble may compact: not while writers are busy, who need the processors,
// unless L0 has grown to patientSublevels, more than a gigabyte waits to be compacted, or somebody
// asked for it. What waits is compacted together later, which is less work than one part after the
// other: L0's tables are merged into those below them once (docs/adr/0049). It is Pebble's own
// ConcurrencyLimitScheduler but for the waiting.
type compactions struct {
	// Bytes that transactions have written, by which a tick sees whether writers are busy.
	written atomic.Int64

	db   pebble.DBForCompaction
	stop chan struct{}
	done chan struct{}

	mu      sync.Mutex
	idle    sync.Cond // on mu: granting has ended
	running int
	busy    int  // ticks until writers count as quiet
	granted bool // somebody grants, without mu
	closed  bool
}

var _ pebble.CompactionScheduler = (*compactions)(nil)

// newCompactions makes the scheduler, which does nothing before Pebble hands over its database.
func newCompactions() *compactions {
	c := &compactions{stop: make(chan struct{}), done: make(chan struct{})}
	c.idle.L = &c.mu
	return c
}

// wrote takes note of a batch; where Pebble schedules compactions itself c is nil.
func (c *compactions) wrote(bytes int) {
	if c != nil {
		c.written.Add(int64(bytes))
	}
}

// Register implements pebble.CompactionScheduler.
func (c *compactions) Register(_ int, db pebble.DBForCompaction) {
	c.db = db
	go c.watch()
}

// Unregister implements pebble.CompactionScheduler.
func (c *compactions) Unregister() {
	close(c.stop)
	<-c.done
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for c.granted {
		c.idle.Wait()
	}
}

// watch lets compactions run that have waited.
func (c *compactions) watch() {
	defer close(c.done)
	ticks := time.NewTicker(quietTick)
	defer ticks.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-ticks.C:
		}
		busy := c.written.Swap(0) >= busyBytes
		c.mu.Lock()
		if busy {
			c.busy = quietTicks
		} else {
			c.busy = max(0, c.busy-1)
		}
		c.mu.Unlock()
		c.grant()
	}
}

// allowed is how many compactions may run now; c.mu is held. Pebble allows one that nothing presses
// for.
func (c *compactions) allowed() int {
	n := c.db.GetAllowedWithoutPermission()
	if n == 1 && c.busy > 0 {
		return 0
	}
	return n
}

// TrySchedule implements pebble.CompactionScheduler.
func (c *compactions) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.running >= c.allowed() {
		return false, nil
	}
	c.running++
	return true, grantedCompaction{c}
}

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler. Pebble holds its lock:
// the next tick looks.
func (c *compactions) UpdateGetAllowedWithoutPermission() {}

// grant starts what waits and is allowed.
func (c *compactions) grant() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.granted {
		c.idle.Wait()
	}
	for !c.closed && c.running < c.allowed() {
		c.running++ // it may end before Schedule returns
		c.granted = true
		c.mu.Unlock()
		waits, _ := c.db.GetWaitingCompaction()
		accepted := waits && c.db.Schedule(grantedCompaction{c})
		c.mu.Lock()
		c.granted = false
		c.idle.Broadcast()
		if !accepted {
			c.running--
			return
		}
	}
}

// grantedCompaction is one that runs.
type grantedCompaction struct{ of *compactions }

func (grantedCompaction) Started()                                          {}
func (grantedCompaction) MeasureCPU(pebble.CompactionGoroutineKind)         {}
func (grantedCompaction) CumulativeStats(pebble.CompactionGrantHandleStats) {}

// Done implements pebble.CompactionGrantHandle.
func (g grantedCompaction) Done() {
	g.of.mu.Lock()
	g.of.running--
	g.of.mu.Unlock()
	g.of.grant()
}
