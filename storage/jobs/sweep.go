package jobs

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/storage/kv"
)

// sighting is a lease as it was seen last.
type sighting struct {
	value []byte
	since time.Time // seen with this value
	// The last round in which the key was seen; what was not seen for one is forgotten.
	round uint64
}

// sweeper finds leases that nobody renews.
type sweeper struct {
	queue *Queue
	seen  map[string]sighting // by key
	round uint64
}

// sweepPage is how many leases are read in one transaction.
const sweepPage = 500

// work looks for dead workers until the queue closes.
func (s *sweeper) work() {
	q := s.queue
	for q.sleep(q.lease / 2) {
		if err := s.pass(q.ctx, time.Now()); err != nil && q.ctx.Err() == nil {
			q.log.Warn("jobs: cannot look for dead workers", "error", err)
		}
	}
}

// pass reads all leases and queues those jobs again whose lease has been the same for too long.
func (s *sweeper) pass(ctx context.Context, now time.Time) error {
	s.round++
	err := s.queue.leases(ctx, func(key, value []byte) error {
		last, known := s.seen[string(key)]
		if !known || !bytes.Equal(last.value, value) {
			last = sighting{value: value, since: now}
		}
		last.round = s.round
		s.seen[string(key)] = last
		if now.Sub(last.since) < s.queue.lease {
			return nil
		}
		return s.queue.requeue(ctx, key, value, nil)
	})
	for key, last := range s.seen {
		if last.round != s.round {
			delete(s.seen, key)
		}
	}
	return err
}

// requeueAll queues all running jobs again.
func (q *Queue) requeueAll(ctx context.Context) error {
	return q.leases(ctx, func(key, value []byte) error { return q.requeue(ctx, key, value, nil) })
}

// requeueLater is requeueAll for a store that was full when the queue was opened. No job is taken
// before.
func (q *Queue) requeueLater() {
	for q.sleep(retryEvery) {
		err := q.requeueAll(q.ctx)
		if err == nil {
			close(q.ready)
			return
		}
		if !errors.Is(err, kv.ErrFull) && q.ctx.Err() == nil {
			q.log.Error("jobs: cannot queue jobs again", "error", err)
		}
	}
}

// leases calls fn for every lease; key and value are fn's to keep.
func (q *Queue) leases(ctx context.Context, fn func(key, value []byte) error) error {
	begin, end := q.keys.ofType(keyLease, "")
	for {
		var rows [][2][]byte
		err := q.kv.View(ctx, func(tx kv.ReadTx) error {
			rows = nil
			it := tx.Range(begin, end, kv.RangeOptions{Limit: sweepPage, WantAll: true})
			defer it.Close()
			for it.Next() {
				rows = append(rows, [2][]byte{bytes.Clone(it.Key()), bytes.Clone(it.Value())})
			}
			return it.Err()
		})
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := fn(row[0], row[1]); err != nil {
				return err
			}
		}
		if len(rows) < sweepPage {
			return nil
		}
		begin = kv.AppendKeyAfter(nil, rows[len(rows)-1][0])
	}
}

// heir queues jobs again whose processes are gone; leases would tell of it later.
type heir struct {
	queue *Queue
	known map[mark]nodes.ID // that were there and whose jobs were not queued again
}

// work looks for processes that are gone until the queue closes.
func (h *heir) work() {
	q := h.queue
	for {
		live, changed, err := q.nodes.Live(q.ctx)
		if err != nil {
			return
		}
		gone := maps.Clone(h.known)
		for _, m := range live {
			h.known[markOf(m.ID)] = m.ID
			delete(gone, markOf(m.ID))
		}
		if err := h.requeue(gone); err == nil {
			maps.DeleteFunc(h.known, func(m mark, _ nodes.ID) bool { return gone[m] != nodes.ID{} })
		} else if q.ctx.Err() == nil {
			q.log.Warn("jobs: cannot take over the jobs of a process that is gone", "error", err)
			if q.sleep(retryEvery) {
				continue
			}
		}
		select {
		case <-changed:
		case <-q.ctx.Done():
			return
		}
	}
}

// requeue queues the jobs of processes again.
func (h *heir) requeue(gone map[mark]nodes.ID) error {
	if len(gone) == 0 {
		return nil
	}
	q := h.queue
	return q.leases(q.ctx, func(key, value []byte) error {
		l, err := parseLease(value)
		if err != nil {
			return err
		}
		id, of := gone[l.run.mark()]
		if !of {
			return nil
		}
		// What it does is fenced, so that it may be alive after all; but one that has come back
		// keeps its jobs.
		return q.requeue(q.ctx, key, value, func(tx kv.ReadTx) (bool, error) { return q.nodes.Gone(tx, id) })
	})
}

// requeue takes a job from its dead worker, if its lease is still the one that was seen, and dead,
// if it is given, says so in the transaction.
func (q *Queue) requeue(ctx context.Context, key, seen []byte, dead func(kv.ReadTx) (bool, error)) error {
	typ, id, err := q.keys.parseName(key)
	if err != nil {
		return err
	}
	l, err := parseLease(seen)
	if err != nil {
		return err
	}
	_, err = q.kv.Update(kv.UseReserve(ctx), func(tx kv.Tx) error {
		value, err := tx.Get(key)
		if err != nil || !bytes.Equal(value, seen) {
			return err
		}
		if dead != nil {
			if is, err := dead(tx); err != nil || !is {
				return err
			}
		}
		before, err := q.keys.read(tx, typ, id)
		if err != nil || before == nil {
			return err
		}
		t := transaction{q.keys, tx}
		after, pause := before.crashed(l)
		if err := t.wait(after, pause, q.now()); err != nil {
			return err
		}
		t.change(typ, id, before, after)
		return nil
	})
	return err
}
