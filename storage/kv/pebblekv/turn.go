package pebblekv

import (
	"sync/atomic"
	"time"
)

// starvingAfter is after how many conflicts a transaction gets a turn. Going first within a group helps against others
// as quick as itself; a slow one meets a conflict with an earlier group each time.
const starvingAfter = 6

// maxTurn bounds a turn: a function that is slower, or that waits for another transaction's commit, must not hold up the
// store.
const maxTurn = time.Second

// turn is a time in which the committer commits nothing, so that a starving transaction can run without a conflict.
type turn struct {
	over   atomic.Bool   // set by whoever ends the turn: the transaction with its request, or the committer
	result chan *request // gets the transaction's request; nil when there is none
}

func newTurn() *turn { return &turn{result: make(chan *request, 1)} }

// end ends the turn with q, which may be nil. False means that the turn was over and q must be queued.
func (t *turn) end(q *request) bool {
	if !t.over.CompareAndSwap(false, true) {
		return false
	}
	t.result <- q
	return true
}

// wait waits for the end of the turn, for at most maxTurn, and returns the request to be committed first, or nil.
func (t *turn) wait(failed <-chan struct{}) *request {
	timer := time.NewTimer(maxTurn)
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
