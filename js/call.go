package js

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/tracing"
)

// slack is what the deadline of a document may be off: a worker that works through many documents
// reports at least so often, and each report starts the time anew.
const slack = 250 * time.Millisecond

// logsPerCall bounds what one call passes to Options.Log.
const logsPerCall = 100

// digest names a source in the cache of the workers.
type digest [16]byte

func digestOf(source []byte) digest {
	sum := sha256.Sum256(source)
	return digest(sum[:16])
}

// request is one crossing to a worker: a command with its payload, and what may be asked meanwhile.
type request struct {
	tenant  string
	command command
	payload []byte
	// more follows the payload. It is shared with other calls, which may be many that wait for a
	// worker.
	more [][]byte
	// program is the compiled code that the worker keeps between calls; source gives it (or other
	// digests named in the payload) to a worker that does not have it.
	program digest
	source  func(digest) []byte
	// chunk takes parts of the result as they come, in order; the payload is its own. An error ends
	// the call.
	chunk func(payload []byte) error
	// answer answers what the worker asks (rows of a list). An error ends the call.
	answer func(payload []byte) ([]byte, error)
	// again forgets what chunk has taken, so that the call can be repeated. Nil: it cannot, once
	// chunk or answer was called.
	again func()
	// begun is whether chunk or answer was called.
	begun bool
	// bound is the time of a call, where it is not the pool's. Only chunks start it anew then, and
	// the largest size of results with it: what is asked meanwhile belongs to the same part of the
	// call.
	bound time.Duration
	most  int64 // bytes of results, where it is less than the pool's
}

var errTooMuch = compat.Named(compat.KindUnknown, "os_process_error", "OS process gave back too much.")

// ErrEnough ends a call of events that returns it from take or from the host, as any error does,
// and lets the worker live if it comes to an end soon. Any other error costs the worker.
var ErrEnough = errors.New("js: the caller has enough")

// do sends the request to a worker and gives its result. Errors: *compat.Error for what a function
// threw and for os_process_error; the error of ctx, chunk or answer.
func (p *Pool) do(ctx context.Context, r *request) ([]byte, error) {
	began := time.Now()
	ctx, span := tracing.Start(ctx, "javascript")
	span.String("settee.command", commandNames[r.command])
	result, err := p.run(ctx, r)
	span.End(err)
	p.metrics.end(r.command, time.Since(began), err)
	return result, err
}

// run makes the call, a second time where the system has ended the worker in the middle. When
// memory is short, the kernel ends the largest process, so the call may not be the cause; after
// the second time its tenant is blamed.
func (p *Pool) run(ctx context.Context, r *request) ([]byte, error) {
	result, err := p.attempt(ctx, r)
	if !errors.Is(err, errEnded) || ctx.Err() != nil || r.begun && r.again == nil {
		return result, err
	}
	if r.begun {
		r.again()
	}
	p.repeated.Add(1)
	if result, err = p.attempt(ctx, r); errors.Is(err, errEnded) {
		p.blame(r.tenant) // by now it is not as innocent
	}
	return result, err
}

// attempt makes the call on one worker. A worker whose conversation broke off is killed, and its
// tenant is blamed, unless the reason lies elsewhere: with the caller (errStop, the end of ctx) or
// with the system (errEnded). The worker is released in every case.
func (p *Pool) attempt(ctx context.Context, r *request) ([]byte, error) {
	g, err := p.acquire(ctx, r.tenant, r.program)
	if err != nil {
		return nil, err
	}
	w := g.process
	result, err, broken := p.converse(ctx, w, r)
	if broken {
		own := err
		err = w.failure(ctx, err, p.opts.Memory)
		if errors.Is(own, errStop{}) {
			err = errors.Unwrap(own) // of the caller
		} else if ctx.Err() == nil {
			p.killed.Add(1)
			if !errors.Is(err, errEnded) {
				p.blame(r.tenant)
			}
			if said := w.stderr.String(); said != "" && !w.outOfMemory() && p.opts.Log != nil {
				p.opts.Log(r.tenant, "worker died: "+said)
			}
		}
		g.process = nil
		p.release(g)
		return nil, err
	}
	w.program = r.program
	p.release(g)
	return result, err
}

// errStop wraps an error of the caller that makes the worker useless, because it is in the middle
// of a call.
type errStop struct{ cause error }

// Error implements error.
func (e errStop) Error() string { return e.cause.Error() }

// Unwrap gives the caller's error.
func (e errStop) Unwrap() error { return e.cause }

// Is makes every errStop match.
func (e errStop) Is(target error) bool {
	_, ok := target.(errStop)
	return ok
}

// converse runs one call on a worker; broken means that the worker cannot be used again and err is
// why.
func (p *Pool) converse(ctx context.Context, w *process, r *request) (result []byte, err error, broken bool) {
	defer w.watch(ctx)()
	timeout := time.Duration(p.timeout.Load()) + slack
	if r.bound > 0 {
		timeout = r.bound
	}
	parts := append([][]byte{{byte(r.command)}, r.payload}, r.more...)
	if err := w.send(ctx, timeout, frameCall, parts...); err != nil {
		return nil, err, true
	}
	size, most := int64(0), min(p.opts.MaxResult, cmp.Or(r.most, p.opts.MaxResult))
	deadline := time.Now().Add(timeout)
	for {
		f, err := w.receive(ctx, deadline)
		if err != nil {
			return nil, err, true
		}
		if size += int64(len(f.payload)); size > most {
			return nil, errStop{errTooMuch}, true
		}
		switch f.kind {
		case frameResult:
			return f.payload, nil, false
		case frameFail:
			return nil, decodeError(f.payload), false
		case frameChunk:
			err = r.take(f.payload)
		case frameAsk:
			var answer []byte
			if answer, err = r.reply(f.payload); err == nil {
				err = w.send(ctx, timeout, frameAnswer, answer)
			}
		case frameSource:
			err = w.send(ctx, timeout, frameAnswer, r.sourceOf(f.payload))
		case frameLog:
			if p.opts.Log != nil {
				p.opts.Log(r.tenant, string(f.payload))
			}
			continue // and the clock goes on
		default:
			err = errFrame
		}
		if errors.Is(err, ErrEnough) && w.stop(ctx) == nil {
			return nil, ErrEnough, false
		}
		if err != nil {
			return nil, err, true
		}
		switch {
		case r.bound == 0:
		case f.kind == frameChunk:
			size = 0
		default:
			continue
		}
		deadline = time.Now().Add(timeout)
	}
}

func (r *request) take(payload []byte) error {
	if r.chunk == nil {
		return errFrame
	}
	r.begun = true
	if err := r.chunk(payload); err != nil {
		return errStop{err}
	}
	return nil
}

func (r *request) reply(payload []byte) ([]byte, error) {
	if r.answer == nil {
		return nil, errFrame
	}
	r.begun = true
	answer, err := r.answer(payload)
	if err != nil {
		return nil, errStop{err}
	}
	return answer, nil
}

// sourceOf is the source that a worker asks for; empty if the caller does not know it, which the
// worker takes as a failure.
func (r *request) sourceOf(key []byte) []byte {
	if len(key) != len(digest{}) || r.source == nil {
		return nil
	}
	return r.source(digest(key))
}
