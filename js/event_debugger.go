package js

import (
	"context"
	"errors"

	"github.com/settee-db/settee/js/inspect"
)

// MaxDebugMessage is how many bytes a message of a client to the debugger may have.
const MaxDebugMessage = inspect.MaxMessage

// EventDebugger is the EventHost of a program that is debugged (EventOptions.Debug). Before the handler
// begins it waits for the client to let it go on.
type EventDebugger interface {
	EventHost
	// Debug gives messages of the Chrome DevTools protocol to the client, and those that the client
	// has sent since; if wait is set it waits for one, and all effects so far were flushed before. An
	// empty message stands for a client that has come. logged is what the handler has logged since
	// the last call. An error ends RunEvents.
	Debug(ctx context.Context, out [][]byte, logged []string, wait bool) (in [][]byte, err error)
}

// askDebuggerOf answers an exchange of messages.
func askDebuggerOf(ctx context.Context, host EventHost, d *decoder, e *encoder) error {
	wait, out, logged := d.bool(), d.list(), d.strings()
	debugger, ok := host.(EventDebugger)
	if !ok {
		d.fail()
	}
	if d.err != nil {
		return d.err
	}
	in, err := debugger.Debug(ctx, out, logged, wait)
	e.list(in)
	return err
}

// exchange is inspect.Exchange: it asks the host.
func (r *eventRealm) exchange(out [][]byte, wait bool) (in [][]byte, err error) {
	if wait {
		queryService{r}.prepare() // whoever looks now sees what was done until here
	}
	var e encoder
	r.beginAsk(&e, askDebugger)
	e.bool(wait)
	e.list(out)
	e.strings(r.run.logs[r.run.told:])
	r.run.told = len(r.run.logs)
	payload, err := r.w.ask(e.b)
	if err != nil {
		return nil, err
	}
	if len(payload) == 0 || payload[0] != 0 {
		return nil, errors.New("js: the session of the debugger is over")
	}
	d := decoder{b: payload[1:]}
	in = d.list()
	return in, d.err
}

// awaitDebugger waits until the client of a program that is debugged lets it run.
func (r *eventRealm) awaitDebugger() error {
	if r.inspected == nil {
		return nil
	}
	err := r.inspected.Await()
	if err != nil {
		r.run.broken = err
	}
	return err
}

// endDebugger tells the client how the handler has ended.
func (r *eventRealm) endDebugger(err error) {
	switch {
	case r.inspected == nil || r.run.broken != nil:
	case err != nil:
		r.inspected.End("the handler has failed: " + err.Error())
	default:
		r.inspected.End("the handler has ended")
	}
}
