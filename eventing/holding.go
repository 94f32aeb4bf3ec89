package eventing

import (
	"context"
	"crypto/sha256"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/memory"
)

// holding counts what the handlers of a batch hold in memory: documents that they have read, what
// they write and log, rows of statements, answers of other servers. The bytes come out of
// Options.HandlerMemory, which all functions share and of which one function gets three quarters at
// most; they are taken before they are used. All runs of a batch have the same holding. It is safe
// for concurrent use.
type holding struct {
	mu    sync.Mutex
	share memory.Share
	// crossing is the size of what the worker process was told last; it is given back when the
	// process asks for the next.
	crossing int64
	// kept is the size of the answers of other servers that later runs of the handlers get again.
	kept int64

	answers map[[sha256.Size]byte][]curlAnswer
	used    map[[sha256.Size]byte]int // by the run
	full    bool                      // an answer was not kept, so that none is any more
}

// handlerMemory is what handlers have together where Options.HandlerMemory does not say: a
// sixteenth of the limit of the heap, from 24 to 512 MB.
func handlerMemory() int64 { return min(max(debug.SetMemoryLimit(-1)/16, 24<<20), 512<<20) }

func (f *function) newHolding() *holding {
	return &holding{share: memory.Share{Budget: f.engine.memory, User: f.ref.String()}}
}

// errNoMemory is the error of what a handler does if that would take more memory than there is.
var errNoMemory = compat.Busy("The event functions of this server hold too much in memory, or this one does.")

// take adds bytes to what the run holds. It waits for others for a while; the error is errNoMemory,
// or that of ctx.
func (h *holding) take(ctx context.Context, bytes int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.add(ctx, bytes)
}

func (h *holding) add(ctx context.Context, bytes int64) error {
	err := h.share.Take(ctx, bytes)
	if _, refused := compat.AsError(err); refused {
		return errNoMemory
	}
	return err
}

// give gives back what take has given.
func (h *holding) give(bytes int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.share.Shrink(h.share.Held - bytes)
}

// cross replaces the size of what is on its way to the worker process.
func (h *holding) cross(ctx context.Context, bytes int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if more := bytes - h.crossing; more > 0 {
		if err := h.add(ctx, more); err != nil {
			return err
		}
	} else {
		h.share.Shrink(h.share.Held + more)
	}
	h.crossing = bytes
	return nil
}

// await takes bytes, and waits until there are so many; the error is that of ctx.
func (h *holding) await(ctx context.Context, bytes int64) error {
	for {
		err := h.take(ctx, bytes)
		if !errors.Is(err, errNoMemory) {
			return err
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// sorting gives the functions by which a search accounts for the rows that it sorts
// (mango.Source.Keep), and which ends that. keep is given the total so far.
func (h *holding) sorting() (keep func(bytes int) error, end func()) {
	kept := int64(0)
	keep = func(bytes int) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		more := int64(bytes) - kept
		err := h.share.Grow(h.share.Held + more)
		if err == nil {
			kept += max(more, 0)
		}
		return err
	}
	return keep, func() { h.give(kept) }
}

// Hold implements docread.Memory: documents of so many bytes are read, and shown to the worker
// process.
func (h *holding) Hold(ctx context.Context, bytes int) error { return h.cross(ctx, 2*int64(bytes)) }

// again begins a new run of the handlers. What the run before held is given back, except for the
// answers of other servers, since requests are not made again.
func (h *holding) again() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.crossing, h.used = 0, make(map[[sha256.Size]byte]int)
	h.share.Shrink(h.kept)
}

// forget gives everything back, also the answers: the batch was stored, and what is left of it is a
// new batch.
func (h *holding) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.crossing, h.kept, h.full, h.answers = 0, 0, false, nil
	h.share.Release()
}

// sizeOf is about what a result takes in memory.
func sizeOf(r *js.EventResult) (bytes int64) {
	const each = 200
	for i := range r.Effects {
		bytes += each + effectSize(&r.Effects[i])
	}
	for _, text := range r.Logs {
		bytes += int64(len(text))
	}
	for i := range r.Lines {
		bytes += each + int64(len(r.Lines[i].LastError)+len(r.Lines[i].LastLog))
	}
	return bytes
}

func effectSize(e *js.EventEffect) int64 {
	return int64(len(e.ID) + len(e.Body) + len(e.Reference) + len(e.Context))
}

// admit takes the memory for the result of the n-th item of a run. If there is not enough, the run
// ends before that item, which is then the first one of the next run; if it is the first one
// already, the item fails.
func (b *batch) admit(n int, r *js.EventResult) (admitted *js.EventResult, enough bool) {
	switch err := b.holding.take(b.ctx, sizeOf(r)); {
	case err == nil:
		return r, false
	case n > 0 || b.ctx.Err() != nil:
		return nil, true
	}
	failure := &js.EventFailure{Name: "EventingError", Message: errNoMemory.Reason}
	return &js.EventResult{Outcome: js.EventFailed, Failure: failure, Took: r.Took}, true
}
