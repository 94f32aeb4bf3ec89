package eventing

import (
	"context"
	"time"

	"github.com/settee-db/settee/eventing/timers"
	"github.com/settee-db/settee/js"
)

// speculation is what lets the handlers of a batch run while the batch before it is being stored.
// They see what they would see if it had been stored: what it has written is not read until then,
// nor is anything asked for that may depend on it, or that is itself an effect (queries, requests).
// The run is void if that batch is not stored as it was run.
type speculation struct {
	before *batch // nil if all batches before are stored
	void   bool
	// decided is closed when it is known whether what the run did was stored, kept.
	decided chan struct{}
	kept    bool
}

// decide tells the batch that runs over this one whether what this one did was stored.
func (a *speculation) decide(kept bool) {
	a.kept = kept
	close(a.decided)
}

// speculationWait is how long a handler waits for the batch before it. The time counts as the
// handler's own, which is why the wait is short.
const speculationWait = 250 * time.Millisecond

// await waits until the batch before is stored. The error ends the run: it is void, because the
// batch before was not stored as it was run, or took too long.
func (a *speculation) await(ctx context.Context) error {
	if a.before != nil && !a.void {
		late := time.NewTimer(speculationWait)
		defer late.Stop()
		select {
		case <-a.before.decided:
			a.void = !a.before.kept
		case <-late.C:
			a.void = true
		case <-ctx.Done():
			a.void = true
		}
	}
	if a.void {
		return js.ErrEnough
	}
	a.before = nil
	return nil
}

// lost reports, without waiting, whether it is known already that the run is void.
func (a *speculation) lost() bool {
	if a.before != nil {
		select {
		case <-a.before.decided:
			a.void = a.void || !a.before.kept
		default:
		}
	}
	return a.void
}

// isVoid reports whether the handlers have to run again. It must be called only when the batch
// before is done.
func (a *speculation) isVoid() bool { return a.void || a.before != nil && !a.before.kept }

// whole reports whether all handlers of the batch have run.
func (b *batch) whole() bool { return b.failed == nil && b.current == len(b.items) }

// writes reports whether handlers have written a document.
func (b *batch) writes(key docKey) bool {
	state := b.docs[key]
	return state != nil && state.written
}

// setsTimer reports whether handlers have made or cancelled a timer, or are its callback.
func (b *batch) setsTimer(name timers.Name) bool {
	_, touched := b.timers[name]
	return touched || b.fires(name)
}

// fires reports whether a timer is fired by the batch.
func (b *batch) fires(name timers.Name) bool {
	for _, it := range b.items {
		if it.due != nil && it.due.Name == name {
			return true
		}
	}
	return false
}
