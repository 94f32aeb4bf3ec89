package eventing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage/kv"
)

// onDeployGrace is how much longer than its time OnDeploy may take with the storing of what it did.
const onDeployGrace = 10 * time.Second

// onDeploy runs the handler OnDeploy, if there is one, with the reason and, for a function that is
// resumed, how long it was paused, in milliseconds. The error is errCannotRun if the handler fails
// or takes too long.
func (f *function) onDeploy(ctx context.Context, check func(kv.Tx) error) error {
	reason, delay := "Deploy", int64(0)
	if f.record.State == definition.Resuming {
		reason = "Resume"
		if p := f.record.Paused; p != nil {
			delay = max(0, f.engine.now().Sub(*p).Milliseconds())
		}
	}
	event := js.Event{Kind: js.EventDeploy, Options: fmt.Appendf(nil, `{"reason":%q,"delay":%d}`, reason, delay)}
	return f.onTheWay(ctx, check, event, definition.Deployed)
}

// undeploy ends a function that runs nowhere any more: OnUndeploy is called, if there is one. The function is
// undeployed whatever comes of that; a failure is told by its record and its log.
func undeploy(ctx context.Context, e *Engine, check func(kv.Tx) error, r *registry.Record) error {
	var f *function
	var err error
	if strings.Contains(r.Running().Code, "OnUndeploy") { // else there is nothing to ask a worker for
		f, err = e.prepare(r)
	}
	if f != nil {
		defer f.close()
		event := js.Event{Kind: js.EventUndeploy, Options: []byte(`{"reason":"Undeploy"}`)}
		err = f.onTheWay(ctx, check, event, definition.Undeployed)
	}
	reason := ""
	var cannot errCannotRun
	var stopped errStopped
	if _, refused := compat.AsError(err); refused || errors.As(err, &cannot) || errors.As(err, &stopped) {
		reason = strings.TrimPrefix(err.Error(), "eventing: ")
		e.logs.Of(r.Ref()).Say("the function is undeployed without its last handler: " + reason)
	} else if err != nil {
		return err
	}
	return e.registry.FinishFailed(ctx, r.Ref(), r.Instance, r.State, definition.Undeployed, reason)
}

// onTheWay runs OnDeploy or OnUndeploy, if the code has it, and stores what it does together with the state
// that it leads to, so that it does not run again. The error is errCannotRun if the handler fails or takes
// too long.
func (f *function) onTheWay(ctx context.Context, check func(kv.Tx) error, event js.Event, to definition.State) error {
	name := "OnDeploy"
	if event.Kind == js.EventUndeploy {
		name = "OnUndeploy"
	}
	event.Timeout = time.Duration(f.settings.OnDeployTimeout) * time.Second
	ctx, cancel := context.WithTimeout(ctx, event.Timeout+onDeployGrace)
	defer cancel()
	it := &item{event: event}
	err := f.process(ctx, []*item{it}, deployCheckpoint{f, check, to})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errCannotRun{name + " took longer than on_deploy_timeout"}
	case err != nil:
		return err
	}
	switch it.result.Outcome {
	case js.EventFailed:
		return errCannotRun{name + " has failed: " + it.result.Failure.Message}
	case js.EventTimedOut:
		return errCannotRun{name + " took too long"}
	}
	return nil
}

// deployCheckpoint is the checkpoint of OnDeploy and OnUndeploy: they run in the process that has the job.
type deployCheckpoint struct {
	f     *function
	check func(kv.Tx) error // that the process has the job
	to    definition.State
}

func (c deployCheckpoint) move(tx kv.Tx, items []*item) error {
	if err := c.check(tx); err != nil {
		return err
	}
	if items[0].result.Outcome != js.EventDone {
		return nil // a dead letter is stored
	}
	r := c.f.record
	return c.f.engine.registry.FinishIn(tx, r.Ref(), r.Instance, r.State, c.to, "")
}

func (deployCheckpoint) moved([]*item) {}
