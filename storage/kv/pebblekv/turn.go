package pebblekv

import (
	"sync/atomic"
	"time"
)

// starvingAfter is after how many conflicts a transaction gets a turn. Going first within a group
// helps against others as quick as itself; a slow one meets a conflict with an earlier group each
// time. One that was too slow to be checked at all, because what was written since it began is
// forgotten, gets its turn at once: it would be no quicker.
const starvingAfter = 6

// A turn is three times as long as the transaction took last, and a second. So the transaction ends
// in it, or in the next one, which is as long as it took in this one; a function that waits for
// another transaction's commit does not hold up the store for long.
const (
	leastTurn   = time.Second
	longestTurn = time.Minute
)

// prospects are the conflicts that an Update has met so far; they decide whether it gets a turn.
type prospects struct {
	runs int           // runs that met a conflict
	took time.Duration // how long the last run took
	lost bool          // the last run could not be checked
}

func (p *prospects) note(took time.Duration, lost bool) {
	p.runs++
	p.took, p.lost = took, lost
}

func (p *prospects) starving() bool { return p.runs >= starvingAfter || p.lost }

// turn is how long the turn of the next run is.
func (p *prospects) turn() time.Duration { return min(leastTurn+3*p.took, longestTurn) }

// turn is a time in which the committer commits nothing, so that a starving transaction can run
// without a conflict.
type turn struct {
	length time.Duration // at most
	over   atomic.Bool   // set by whoever ends the turn: the transaction with its request, or the committer
	result chan *request // gets the transaction's request; nil when there is none
}

func newTurn(length time.Duration) *turn {
	return &turn{length: length, result: make(chan *request, 1)}
}

// end ends the turn with q, which may be nil. False means that the turn was over and q must be
// queued.
func (t *turn) end(q *request) bool {
	if !t.over.CompareAndSwap(false, true) {
		return false
	}
	t.result <- q
	return true
}

// wait waits for the end of the turn, for at most its length, and returns the request to be
// committed first, or nil.
func (t *turn) wait(failed <-chan struct{}) *request {
	timer := time.NewTimer(t.length)
	defer timer.Stop()
	select {
	case q := <-t.result:
		return q
	case <-timer.C:
	case <-failed:
	}
	if t.over.CompareAndSwap(false, true) {
		return nil
	}
	return <-t.result
}
