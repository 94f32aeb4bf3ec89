package eventing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/eventing/remote"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
)

// jobID names the job of a function, parseJobID the function of a job.
func jobID(ref definition.Ref) string {
	return ref.Scope.Bucket + "\x00" + ref.Scope.Scope + "\x00" + ref.Name
}

func parseJobID(id string) (definition.Ref, error) {
	parts := strings.Split(id, "\x00")
	if len(parts) != 3 {
		return definition.Ref{}, fmt.Errorf("eventing: bad job %q", id)
	}
	return definition.Ref{Scope: definition.Scope{Bucket: parts[0], Scope: parts[1]}, Name: parts[2]}, nil
}

// runJob leads a function from a state on the way, such as deploying, to the one that it leads to.
// Only the process that has the job does that; deployed functions run in all processes (serve).
func (e *Engine) runJob(ctx context.Context, run *jobs.Run) ([]byte, error) {
	ref, err := parseJobID(run.ID)
	if err != nil {
		return nil, jobs.Permanent(err)
	}
	if err := e.awaitList(ctx); err != nil {
		return nil, err
	}
	for {
		r, err := e.registry.Get(ctx, ref)
		if err != nil {
			return nil, err
		}
		if r == nil || r.State.Settled() {
			return nil, jobs.ErrForget
		}
		switch err := e.step(ctx, run.Check, r); {
		case err == nil, errors.Is(err, registry.ErrChanged):
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		default:
			e.failed(ref, err)
			return nil, err
		}
	}
}

// failed logs an error that is not the function's fault, for the operator and in the function's
// log.
func (e *Engine) failed(ref definition.Ref, err error) {
	e.o.Log.Error("eventing: a function has stopped and is started again", "function", ref.String(), "error", err)
	e.logs.Of(ref).Say("the function has stopped and is started again: " + err.Error())
}

// step does what one state on the way needs and ends it. Pausing and undeploying wait until all
// processes have given the function up. Deploying waits until all processes know the function,
// because they have to mark what functions write to its source, and runs OnDeploy. check fails in a
// transaction if that is another process's work now.
func (e *Engine) step(ctx context.Context, check func(kv.Tx) error, r *registry.Record) error {
	finish := func(to definition.State) error { return e.registry.Finish(ctx, r.Ref(), r.Instance, r.State, to) }
	switch r.State {
	case definition.Pausing, definition.Undeploying:
		if err := e.awaitReleased(ctx, r.Instance); err != nil {
			return err
		}
		if r.State == definition.Pausing {
			return finish(definition.Paused)
		}
		return undeploy(ctx, e, check, r)
	}
	// What functions write into the source is marked, from now on, by all processes.
	changes, err := e.registry.Changes(ctx)
	if err == nil {
		err = e.members.AwaitSeen(ctx, nodes.Functions, changes)
	}
	if err != nil {
		return err
	}
	f, err := e.prepare(r)
	if err != nil {
		return e.cannotRun(ctx, r, err)
	}
	defer f.close()
	if f.program.MayHave("OnDeploy") {
		err := f.onDeploy(ctx, check)
		if wrong, ok := errors.AsType[*js.EventSyntaxError](err); ok {
			err = errCannotRun{wrong.Error()}
		}
		if err != nil {
			return e.cannotRun(ctx, r, err)
		}
	}
	return finish(definition.Deployed)
}

// errCannotRun says why a function cannot run as it is, in any process.
type errCannotRun struct{ why string }

// Error implements error.
func (e errCannotRun) Error() string { return "eventing: " + e.why }

// cannotRun ends a state that cannot go on. A function on the way goes back to where it was. A
// deployed one is undeployed if its source is gone, and paused if somebody has to resume it. Errors
// that are not the function's are given back, and the caller tries again.
func (e *Engine) cannotRun(ctx context.Context, r *registry.Record, err error) error {
	var cannot errCannotRun
	var stopped errStopped
	gone := errors.Is(err, feed.ErrSourceGone) || errors.Is(err, compat.KindNoDatabase)
	if !errors.As(err, &cannot) && !errors.As(err, &stopped) && !gone {
		return err
	}
	e.o.Log.Error("eventing: a function cannot run", "function", r.Ref().String(), "error", err)
	e.logs.Of(r.Ref()).Say("the function cannot run: " + err.Error())
	switch {
	case r.State == definition.Deploying:
		return e.registry.FinishFailed(ctx, r.Ref(), r.Instance, r.State, definition.Undeployed, err.Error())
	case r.State == definition.Resuming:
		return e.registry.FinishFailed(ctx, r.Ref(), r.Instance, r.State, definition.Paused, err.Error())
	case gone:
		_, err = e.registry.Undeploy(ctx, r)
	case stopped.why != "":
		_, err = e.registry.Stop(ctx, r, stopped.why)
	}
	return err
}

// run serves a deployed function until it is not deployed any more. After a failure it rests,
// longer each time, and begins anew; a change of the function ends the rest.
func (e *Engine) run(ref definition.Ref, running *running) {
	for failures := 0; ; {
		e.mu.Lock()
		r := e.records[ref]
		if r == nil || r.State != definition.Deployed || e.ctx.Err() != nil {
			delete(e.running, ref)
			e.mu.Unlock()
			return
		}
		ctx, cancel := context.WithCancelCause(e.ctx)
		running.version, running.cancel, running.f = r.Version, cancel, nil
		e.mu.Unlock()
		began := time.Now()
		err := e.serve(ctx, running, r)
		if time.Since(began) > mostRest {
			failures = 0 // those before are of another time
		}
		switch {
		case errors.Is(err, errChanged), e.ctx.Err() != nil:
			failures = 0
		case lost(err):
		default:
			if failures++; err != nil && !errors.Is(err, registry.ErrChanged) {
				e.failed(ref, err)
			}
			_ = sleep(ctx, pause(failures, leastRest, mostRest)) // ends when the record changes
		}
		cancel(nil)
	}
}

// leastRest and mostRest are how long a function that has stopped for no fault of its own rests
// before it goes on.
const leastRest, mostRest = 100 * time.Millisecond, time.Minute

// serve runs this process's share of a deployed function until its record changes.
func (e *Engine) serve(ctx context.Context, running *running, r *registry.Record) error {
	f, err := e.prepare(r)
	if err == nil {
		defer f.close()
		f.done = ctx.Done()
		e.mu.Lock()
		running.f = f
		e.mu.Unlock()
		err = f.serve(ctx)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return e.cannotRun(ctx, r, err)
}

// prepare makes a function ready to run. The error is errCannotRun if it is the function's fault.
func (e *Engine) prepare(r *registry.Record) (*function, error) {
	d := r.Running()
	compiled, err := e.compile(d)
	if err != nil {
		return nil, errCannotRun{err.Error()}
	}
	f := &function{
		engine: e, ref: r.Ref(), record: r, instance: r.Instance, space: spaceOf(r.Instance),
		source:   d.Bindings.SourceBucket,
		settings: &d.Settings, program: compiled.program, bindings: compiled.bindings, selector: compiled.selector,
		hopLimit: uint64(d.Settings.HopLimit), maxRetries: int(d.Settings.MaxRetries),
		stats: e.statsOf(r), log: e.logs.Of(r.Ref()), storing: make(chan struct{}, 1),
		serving: make(chan struct{}, mostRequests), calls: make(chan struct{}, 1),
	}
	limit := d.Settings.MaxCurlResponse << 20
	if limit <= 0 {
		limit = maxCurlResponse
	}
	for _, c := range d.Bindings.Curl {
		u, err := remote.New(c, limit, e.o.Connects)
		if err != nil {
			return nil, errCannotRun{err.Error()}
		}
		if e.o.Answer != nil {
			u.Through(answering{c.Value, e.o.Answer})
		}
		f.urls = append(f.urls, u)
	}
	return f, nil
}

// maxCurlResponse is how many bytes of an answer a worker process takes where the function sets no
// limit.
const maxCurlResponse = 64 << 20

// close gives up what the function has open.
func (f *function) close() {
	for _, u := range f.urls {
		u.Close()
	}
}
