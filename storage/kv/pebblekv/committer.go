package pebblekv

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/settee-db/settee/storage/kv/internal/txn"
)

// maxGroupBytes bounds what one sync carries, so that small transactions do not wait long for large
// ones.
const maxGroupBytes = 4 << 20

// batchOverhead is how many bytes a batch has besides the writes of its requests.
const batchOverhead = 256

// committer takes requests in groups to the disk. One goroutine (run) checks a group, applies it
// and hands it on; another (complete) waits for its sync, publishes it and answers. So the next
// group is prepared while one syncs.
type committer struct {
	db    *pebble.DB
	queue *queue
	// Makes groups of the waiting requests; only the goroutine of the committer uses it.
	builder  builder
	maxGroup int
	version  uint64     // of the last group applied
	waiting  []*request // lead the next group
	// Groups that are built and not yet durable, for the second goroutine, which waits for the
	// device.
	flying      chan *group
	space       *spaceGuard
	left        room      // what the device had left for groups
	asked       time.Time // when it was asked for that
	freed       *freed
	failure     *failure
	watches     *txn.Watches
	compactions *compactions
	subspaces   *subspaces
	hold        func() error // fails when another process may have the directory
	raiseMark   func(version uint64)
	// Makes the state after a group the one that new transactions read.
	publish func(*snapshot)
	oldest  func() uint64 // version at which the oldest running transaction began
	stats   *stats
	done    chan struct{} // closed when both goroutines have ended

	writing atomic.Int32 // groups that are being written
	moved   atomic.Int64 // when that began or went on, in nanoseconds since 1970
}

// stalledAfter is how long a group may take to be written until the store counts as ill: a disk
// that does not answer. Waits for flushes and compactions are shorter.
const stalledAfter = 30 * time.Second

// stalled returns an error if commits do not come to their end.
func (c *committer) stalled(now time.Time) error {
	if since := now.Sub(time.Unix(0, c.moved.Load())); c.writing.Load() > 0 && since > stalledAfter {
		return fmt.Errorf("pebblekv: a commit is being written for %v", since.Round(time.Second))
	}
	return nil
}

// start begins to commit above version.
func (c *committer) start() {
	c.flying = make(chan *group)
	c.done = make(chan struct{})
	go c.complete()
	go c.run()
}

// stop commits what is queued and ends the goroutines. After a failure of the store it does not
// wait for those that Pebble may hold for good.
func (c *committer) stop() {
	c.queue.close()
	select {
	case <-c.done:
	case <-c.failure.failed:
	}
}

// run builds and applies group after group.
func (c *committer) run() {
	defer close(c.flying)
	var taken []*request
	for c.failure.get() == nil {
		var open bool
		taken = append(taken[:0], c.waiting...)
		clear(c.waiting) // or the last of them, and what they wrote, stay in memory while nobody writes
		c.waiting = c.waiting[:0]
		if taken, open = c.queue.take(taken, c.maxGroup, maxGroupBytes, len(taken) == 0); !open {
			return
		}
		g, err := c.build(taken)
		if err != nil {
			c.failure.fail(err, true)
			return
		}
		clear(taken)
		select {
		case c.flying <- g:
		case <-c.failure.failed:
			return
		}
		if g.turn != nil {
			if q := g.turn.turn.wait(c.failure.failed); q != nil {
				c.waiting = append([]*request{q}, c.waiting...)
			}
		}
	}
}

// build makes a group of the taken requests and applies it. An error means that Pebble is in an
// unknown state.
func (c *committer) build(taken []*request) (*group, error) {
	g := &group{version: c.version + 1, began: time.Now()}
	if err := c.space.refusal(); err != nil {
		for _, q := range taken {
			g.failed = append(g.failed, failed{q, err})
		}
		return g, nil
	}
	room := c.room(g.began)
	g.batch = c.newBatch(taken)
	c.builder.group = g
	c.builder.conflicts.rotate(c.oldest())
	for i, q := range taken {
		if !q.claim() {
			continue
		}
		if q.turn != nil {
			g.turn = q
			c.waiting = append(c.waiting, taken[i+1:]...)
			break
		}
		if err := room.take(q); err != nil {
			g.failed = append(g.failed, failed{q, err})
			continue
		}
		verdict, err := c.builder.admit(q)
		switch verdict {
		case conflicting:
			g.conflicts = append(g.conflicts, q)
		case postponed:
			c.stats.postponed.Add(1)
			q.claimed.Store(false)
			c.waiting = append(c.waiting, q)
		case unreadable:
			g.failed = append(g.failed, failed{q, err})
		case accepted:
			if err != nil {
				return nil, err
			}
			if q.frees && room.ordinary < 0 {
				c.freed.note(&q.writes)
			}
		}
	}
	if len(g.accepted) == 0 {
		_ = g.batch.Close()
		g.batch = nil
		c.builder.fold.abandon()
		return g, nil
	}
	if err := c.builder.finish(); err != nil {
		return nil, err
	}
	if err := c.apply(g); err != nil {
		return nil, err
	}
	c.version = g.version
	return g, nil
}

// room tells what a group may take of the device. Far from the reserve it goes by what was free a
// moment ago, less what groups took since then: asking the system costs a single write a thirtieth
// of its time.
func (c *committer) room(now time.Time) *room {
	if c.left.ordinary < plenty || now.Sub(c.asked) > plentyFor {
		c.left, c.asked = c.space.room(), now
	}
	return &c.left
}

// maxRetained is up to which size a batch's memory serves later ones: that of a few bulk writes.
const maxRetained = 4 << 20

// newBatch makes a batch with room for what the requests write: one that grew to megabytes would
// copy them, and leave as much to the collector.
func (c *committer) newBatch(taken []*request) *pebble.Batch {
	size := batchOverhead
	for _, q := range taken {
		if q.tx != nil {
			size += q.tx.Data()
		}
	}
	return c.db.NewBatchWithSize(size, pebble.WithMaxRetainedSizeBytes(maxRetained))
}

// apply hands the batch to Pebble's log and memtable, and takes the snapshot of the state after it.
func (c *committer) apply(g *group) (err error) {
	// Pebble panics when it cannot write to its log or start a new one.
	defer func() {
		if p := recover(); p != nil {
			cause, ok := p.(error)
			if !ok {
				cause = fmt.Errorf("%v", p)
			}
			err = fmt.Errorf("pebblekv: commit: %w", cause)
		}
	}()
	if c.writing.Add(1) == 1 {
		c.moved.Store(g.began.UnixNano())
	}
	if err := c.db.ApplyNoSyncWait(g.batch, pebble.Sync); err != nil {
		return err
	}
	c.compactions.wrote(g.batch.Len())
	c.subspaces.wrote(g.batch)
	g.snapshot = newSnapshot(c.db, g.version)
	return nil
}

// complete waits for the sync of group after group, publishes the state and answers.
func (c *committer) complete() {
	defer close(c.done)
	for g := range c.flying {
		if g.batch != nil {
			if err := g.batch.SyncWait(); err != nil {
				c.failure.fail(err, false)
				return
			}
			if c.hold() != nil {
				return
			}
			c.raiseMark(g.version)
			now := time.Now()
			c.stats.synced(len(g.accepted), now.Sub(g.began))
			c.moved.Store(now.UnixNano())
			c.writing.Add(-1)
			c.publish(g.snapshot)
			_ = g.batch.Close()
			c.notify(g)
		}
		c.answer(g)
	}
}

// answer tells all requests of a complete group what became of them. Conflicts are told after the
// publication, so that the next attempt reads what this one conflicted with.
func (c *committer) answer(g *group) {
	c.stats.conflicts.Add(uint64(len(g.conflicts)))
	for _, q := range g.accepted {
		q.done <- outcome{}
	}
	for _, q := range g.conflicts {
		q.done <- outcome{conflict: true, lost: q.lost}
	}
	if g.turn != nil {
		g.turn.done <- outcome{}
	}
	for _, f := range g.failed {
		f.request.done <- outcome{err: f.err}
	}
}

// notify wakes the watches of what the group wrote.
func (c *committer) notify(g *group) {
	if c.watches.Empty() {
		return
	}
	var end []byte
	notifyRun := func(r *writeSet) {
		for i := range r.keys {
			end = append(append(end[:0], r.keys[i].key...), 0)
			c.watches.Notify(txn.KeyRange{Begin: end[:len(end)-1], End: end})
		}
		for i := range r.ranges {
			c.watches.Notify(txn.KeyRange{Begin: []byte(r.ranges[i].begin), End: []byte(r.ranges[i].end)})
		}
	}
	for _, q := range g.accepted {
		notifyRun(&q.writes)
	}
	for i := range g.stamped {
		notifyRun(&g.stamped[i])
	}
}
