package pebblekv

import "sync"

// queue holds the requests that wait for the committer. Requests that were run again go first, so
// that a stream of new ones cannot starve them.
type queue struct {
	mu      sync.Mutex
	arrived sync.Cond
	// Transactions that ran before and conflicted: they go first, so that each comes through.
	retried []*request
	fresh   []*request
	closed  bool
}

func newQueue() *queue {
	q := &queue{}
	q.arrived.L = &q.mu
	return q
}

// put adds a request.
func (q *queue) put(r *request) {
	q.mu.Lock()
	if r.retried {
		q.retried = append(q.retried, r)
	} else {
		q.fresh = append(q.fresh, r)
	}
	q.mu.Unlock()
	q.arrived.Signal()
}

// close lets take return false once the queue is empty.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.arrived.Broadcast()
}

// take appends what waits to taken, in the order in which it is to be committed, up to count
// requests and about size bytes, at least one. With wait it blocks until there is something. It
// returns false when the queue is closed and empty.
func (q *queue) take(taken []*request, count, size int, wait bool) ([]*request, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for wait && len(q.retried) == 0 && len(q.fresh) == 0 {
		if q.closed {
			return taken, false
		}
		q.arrived.Wait()
	}
	for _, list := range []*[]*request{&q.retried, &q.fresh} {
		n := 0
		for n < len(*list) && len(taken) < count && size > 0 {
			size -= (*list)[n].size
			taken = append(taken, (*list)[n])
			n++
		}
		rest := copy(*list, (*list)[n:])
		clear((*list)[rest:])
		*list = (*list)[:rest]
	}
	return taken, true
}
