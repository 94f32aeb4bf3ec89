package kvtest

import (
	"context"
	"errors"

	"github.com/settee-db/settee/storage/kv"
)

// An engine may end an attempt at a transaction without a fault of its own and without a conflict:
// a snapshot can be read for a limited time, and servers may lose what became of a commit. When
// that happens depends on how fast the machine is, so the reference model cannot foresee it. It
// learns from the engine's player which attempts ended so, and ends the same ones: from there on
// the two histories are compared as ever. What such an attempt read is forgotten.

// Allows reports whether an engine may have ended an attempt whose snapshot had the version was,
// given that the next attempt's snapshot has the version is. nil: an engine never ends attempts.
type Allows func(was, is uint64) bool

// ending tells how an attempt of the engine ended for which the history gives no reason.
type ending int

const (
	readsFailed ending = iota + 1 // of a View, or of an Update that returned an error of its function
	ranAgain                      // the function of an Update was run again
	gaveUp                        // Update returned ErrTooOld
)

// attempt is a run of a transaction's function.
type attempt struct {
	number  int // among those of the history
	version uint64
	saw     []int // lines of what it read
	tooOld  bool  // a read or the commit failed with ErrTooOld
}

// forgotten replaces the lines of attempts that were ended: the two histories need not agree about
// them.
const forgotten = ""

// errEnds is returned in the model's transaction function to roll back an attempt that the engine
// ended.
var errEnds = errors.New("ends as the engine's")

// begin notes that an attempt begins; again: it is not the first one of its transaction.
func (p *player) begin(tx kv.ReadTx, again bool) {
	version, err := tx.ReadVersion()
	if err != nil {
		p.t.Errorf("read version: %v", err)
	}
	if last := p.attempt; again && p.allows != nil && p.allows(last.version, version) {
		p.finish(last, ranAgain)
	}
	p.attempt = &attempt{number: p.attempts, version: version}
	p.attempts++
}

// end notes that the last attempt at a transaction was the last one, and that err is what it
// returned.
func (p *player) end(view bool, err error) {
	last, failed := p.attempt, errors.Is(err, kv.ErrTooOld)
	reads := last.tooOld && (view || err != nil) // an Update must not commit after them
	if p.allows == nil || !failed && !reads {
		return
	}
	p.view(func(tx kv.ReadTx) {
		version, err := tx.ReadVersion()
		switch {
		case err != nil || !p.allows(last.version, version):
		case failed:
			p.finish(last, gaveUp)
		default:
			p.finish(last, readsFailed)
		}
	})
}

// finish notes how an attempt ended and forgets what it read.
func (p *player) finish(a *attempt, how ending) {
	p.ended[a.number] = how
	for _, line := range a.saw {
		p.lines[line] = forgotten
	}
}

// mustEnd returns errEnds where the model's attempt must be rolled back because the engine's was.
func (p *player) mustEnd() error {
	how := p.ended[p.attempt.number]
	if !p.isModel || how == 0 {
		return nil
	}
	p.finish(p.attempt, how)
	if how == readsFailed {
		return nil
	}
	return errEnds
}

// transact runs a transaction, on the model as often as the engine did.
func (p *player) transact(view bool, run func(kv.ReadTx) error) (stamp kv.Versionstamp, err error) {
	for {
		if view {
			err = p.View(context.Background(), run)
		} else {
			stamp, err = p.Update(context.Background(), func(tx kv.Tx) error { return run(tx) })
		}
		if !errors.Is(err, errEnds) {
			return stamp, err
		}
		if p.ended[p.attempt.number] == gaveUp {
			return stamp, kv.ErrTooOld
		}
	}
}
