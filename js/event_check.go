package js

import (
	"context"
	"time"

	"github.com/settee-db/settee/compat"
)

// EventHandlers lists the functions in the code of a program.
type EventHandlers struct {
	OnUpdate, OnDelete, OnDeploy bool
	Functions                    []string // of the global scope, in their order
	Warnings                     []string // uses that are deprecated or bear risks, each with its line
}

// EventSyntaxError is why the code of a program is refused. Positions are those of the user's own
// lines: the index of a byte, and line and column from 1; zero if it is not known.
type EventSyntaxError struct {
	Index, Line, Column int
	Description         string // the line, a mark below its place, and what is wrong
}

// Error implements error.
func (e *EventSyntaxError) Error() string { return e.Description }

// CheckEvents compiles a program and makes its realm, without calling a function. The error is
// *EventSyntaxError if the code is wrong.
func (p *Pool) CheckEvents(ctx context.Context, program *EventProgram) (*EventHandlers, error) {
	reply, err := p.do(ctx, &request{
		tenant: program.opts.Tenant, command: commandCheckEvents, payload: program.key[:], program: program.key,
		source: func(digest) []byte { return program.encoded },
		bound:  time.Duration(p.timeout.Load()) + slack + program.compileTime(),
	})
	if err != nil {
		return nil, err
	}
	if refused := decodeSyntaxError(reply); refused != nil {
		return nil, refused
	}
	d := decoder{b: reply}
	d.bool()
	handlers := &EventHandlers{OnUpdate: d.bool(), OnDelete: d.bool(), OnDeploy: d.bool()}
	handlers.Functions, handlers.Warnings = d.strings(), d.strings()
	if d.err != nil {
		return nil, compat.NewError(compat.KindInternal, d.err.Error())
	}
	return handlers, nil
}

// decodeSyntaxError reads a reply that begins with a one.
func decodeSyntaxError(reply []byte) *EventSyntaxError {
	if len(reply) == 0 || reply[0] == 0 {
		return nil
	}
	d := decoder{b: reply[1:]}
	number := func() int { return int(d.uint() & 0xffffff) }
	e := &EventSyntaxError{Index: number(), Line: number(), Column: number()}
	e.Description = d.string()
	return e
}

func encodeSyntaxError(e *EventSyntaxError) []byte {
	enc := encoder{b: []byte{1}}
	enc.uint(uint64(max(0, e.Index)))
	enc.uint(uint64(max(0, e.Line)))
	enc.uint(uint64(max(0, e.Column)))
	enc.string(e.Description)
	return enc.b
}

// runCheckEvents is the worker's side: payload is the digest of the program.
func runCheckEvents(w *worker, payload []byte) ([]byte, error) {
	if len(payload) != len(digest{}) {
		return nil, errFrame
	}
	program, err := kept(w, digest(payload), compileEvents)
	if err != nil {
		return nil, err
	}
	refused := program.refused
	if refused == nil {
		refused = w.tryRealm(program)
	}
	if refused != nil {
		return encodeSyntaxError(refused), nil
	}
	e := encoder{b: []byte{0}}
	e.bool(program.has("OnUpdate"))
	e.bool(program.has("OnDelete"))
	e.bool(program.has("OnDeploy"))
	e.strings(program.functions)
	e.strings(program.warnings)
	return e.b, nil
}

// tryRealm makes the realm of a program, and gives the reason if it cannot be made.
func (w *worker) tryRealm(p *eventProgram) *EventSyntaxError {
	if _, err := w.newEventRealm(p); err != nil {
		return p.startError(err)
	}
	return nil
}
