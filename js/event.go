package js

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
)

// EventOptions describe the handlers of a function of eventing.
type EventOptions struct {
	Tenant string // who shares workers fairly with others: the function
	// Code is what the user wrote, with headers before and footers after it. Calls stand in place
	// of statements of queries, on the same lines.
	Code        string
	HeaderLines int // lines before the user's first one
	Bindings    []EventBinding
	Constants   []EventConstant
	Curls       []string // names of the bindings to URLs
	// TimerContextSize is the most bytes that the context of a timer may have as JSON; 1024.
	TimerContextSize int
	// Timeout is the longest time of one invocation, with all that the host does for it; 60 s.
	Timeout time.Duration
	// Compatibility is the version of Couchbase whose rules hold: "7.2.0" (the default), "6.6.2",
	// "6.5.0" or "6.0.0".
	Compatibility string
	Source        string   // the database of the events
	Calls         []string // functions that the code must have, since timers not made by it call them
	Isolate       bool     // each invocation has a realm of its own
	// Debug: the program runs under a debugger. Its host is an EventDebugger, and Timeout is how long
	// the session lasts.
	Debug bool
}

// EventBinding is a name for a database in the code. Several names may stand for one database.
type EventBinding struct {
	Alias, Database string
	Writable        bool
}

// EventConstant is a name for a value in the code; the literal is an expression of JavaScript.
type EventConstant struct{ Name, Literal string }

// EventProgram is the handlers of a function, ready to be sent. It is immutable and safe for
// concurrent use; workers keep what they compiled.
type EventProgram struct {
	opts    EventOptions
	encoded []byte
	key     digest
}

// Debugged is the same program under a debugger, whose session lasts no longer than timeout.
func (p *EventProgram) Debugged(timeout time.Duration) *EventProgram {
	o := p.opts
	o.Debug, o.Isolate, o.Timeout = true, true, timeout
	return NewEventProgram(o)
}

// MayHave is false only if the code has no function of that name: it is not in the text.
func (p *EventProgram) MayHave(name string) bool {
	return strings.Contains(p.opts.Code, name) || strings.Contains(p.opts.Code, `\u`)
}

// compileTime is how long a worker may take to compile the program: 64 s for a megabyte, which takes
// 0.3 s on a machine that has nothing else to do, and has taken 14 s on one that had 23 things.
func (p *EventProgram) compileTime() time.Duration {
	return time.Duration(len(p.opts.Code)>>14) * time.Second
}

// NewEventProgram makes a program.
func NewEventProgram(o EventOptions) *EventProgram {
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	if o.TimerContextSize <= 0 {
		o.TimerContextSize = 1024
	}
	var e encoder
	e.string(o.Tenant) // realms are not shared
	e.string(o.Code)
	e.uint(uint64(max(0, o.HeaderLines)))
	e.uint(uint64(len(o.Bindings)))
	for _, b := range o.Bindings {
		e.string(b.Alias)
		e.string(b.Database)
		e.bool(b.Writable)
	}
	e.uint(uint64(len(o.Constants)))
	for _, c := range o.Constants {
		e.string(c.Name)
		e.string(c.Literal)
	}
	e.strings(o.Curls)
	e.uint(uint64(o.TimerContextSize))
	e.string(o.Compatibility)
	e.string(o.Source)
	e.strings(o.Calls)
	e.bool(o.Isolate)
	e.bool(o.Debug)
	return &EventProgram{opts: o, encoded: e.b, key: digestOf(e.b)}
}

// decodeEventOptions is the worker's side of NewEventProgram; the timeout comes with each call.
func decodeEventOptions(source []byte) (EventOptions, error) {
	d := decoder{b: source}
	o := EventOptions{Tenant: d.string(), Code: d.string(), HeaderLines: int(d.uint() & 0xffffff)}
	for n := d.count(); n > 0 && d.err == nil; n-- {
		o.Bindings = append(o.Bindings, EventBinding{Alias: d.string(), Database: d.string(), Writable: d.bool()})
	}
	for n := d.count(); n > 0 && d.err == nil; n-- {
		o.Constants = append(o.Constants, EventConstant{Name: d.string(), Literal: d.string()})
	}
	for _, name := range d.list() {
		o.Curls = append(o.Curls, string(name))
	}
	o.TimerContextSize = int(d.uint() & 0x7fffffff)
	o.Compatibility, o.Source, o.Calls = d.string(), d.string(), d.strings()
	o.Isolate, o.Debug = d.bool(), d.bool()
	return o, d.err
}

// EventKind says which handler an event is for.
type EventKind byte

// The kinds of events, and the handlers that they call: OnUpdate, OnDelete, the callback of a
// timer, OnDeploy, OnUndeploy, OnRequest.
const (
	EventUpdate EventKind = iota + 1
	EventDelete
	EventTimer
	EventDeploy
	EventUndeploy
	EventHTTP
)

// Event is what one invocation of a handler is about. Texts are JSON.
type Event struct {
	Kind EventKind
	// Meta describes the document of an update or deletion; its member expiry_date, milliseconds
	// since 1970 or a text, becomes a Date. Doc is the document of an update. Options is the second
	// argument of OnDelete, the argument of OnDeploy, OnUndeploy and OnRequest, and the third one of
	// OnUpdate, which is an empty object without.
	Meta, Doc, Options []byte
	// Callback is the function that a timer calls with Context, nil for undefined.
	Callback string
	Context  []byte
	Timeout  time.Duration // of this event, where it is not the program's
	// Now is what the clock of the handler shows from its begin to its end, in milliseconds since
	// 1970. 0: what that of the machine shows.
	Now int64
	// Refusals are writes that this invocation tried before, and which were refused. The same
	// writes throw KVError now.
	Refusals []EventRefusal
}

// EventRefusal is a write that was refused.
type EventRefusal struct {
	Database, ID string
	Err          EventError
}

// EventError is a failure that the host lets a handler see, as an exception of the class for what
// failed: KVError for documents and timers, N1QLError for queries, CurlError for requests; or of
// another class that it names.
type EventError struct {
	Class      string
	Code       int
	Name, Desc string
}

// Error implements error.
func (e *EventError) Error() string { return e.Name + ": " + e.Desc }

// Codes of EventError that are counted apart where a request of curl fails.
const (
	EventCurlTimedOut = 1 // the time for the request is over
	EventCurlTooLarge = 2 // the response is larger than it may be
)

// EventOutcome is what became of an invocation.
type EventOutcome byte

// Outcomes. A skipped event is one without its handler, or a timer without its callback.
const (
	EventDone EventOutcome = iota + 1
	EventFailed
	EventSkipped
	EventTimedOut
)

// EventResult is what an invocation did. Texts belong to the receiver.
type EventResult struct {
	Outcome EventOutcome
	Failure *EventFailure // of an invocation that failed or took too long
	// Effects are the writes in the order in which they were made, without those that went to
	// EventHost.Flush before. There are none unless the outcome is EventDone.
	Effects []EventEffect
	// Answer is what OnRequest has returned: an object with status, headers (a list of pairs), type, which is
	// the Content-Type that the body has by itself, text and base64, of which one is the body.
	Answer   []byte
	Logs     []string // what was given to log(), at most 100 texts of at most 4 KB
	Counters map[string]int64
	Lines    []EventLine
	Took     time.Duration // with what the host did for it
}

// EventFailure is the exception that ended an invocation. Positions are those of the user's own
// lines, the first is 1; zero if it is not known.
type EventFailure struct {
	Name, Message, Stack string
	Line, Column         int
	Handler              string // the function that was called
}

// EventLine counts what a line of the code called: functions that are provided, not the user's own.
type EventLine struct {
	Line      int
	Calls     int64
	Took      time.Duration
	Errors    int64
	LastError string
	LastLog   string
}

// MaxEventBytes is how many bytes the effects of one invocation have together, and what it asks the
// host at a time.
const MaxEventBytes = 8 << 20

// MaxEventAnswer is how many bytes Answer has at most.
const MaxEventAnswer = 2 << 20

// Limits of one invocation.
const (
	maxEventEffects = 10_000
	maxEventLog     = 4 << 10
	maxEventLines   = 1000 // that are counted
	maxEventText    = 4 << 10
	maxOpenQueries  = 10
)

// killGrace is how much longer than its time an invocation may take before its worker is killed: as
// long as functions of JavaScript run they are interrupted, but built-in functions of goja are not.
const killGrace = time.Second

// RunEvents runs events one after another in one worker. take gets the results in order, as they
// come: a result waits for less than 250 ms. An invocation sees what the ones before it wrote; one
// that fails leaves nothing. An error ends the call: that of take or of the host (see ErrEnough),
// *EventSyntaxError, or one for which KilledEvent tells what became of the first event whose result
// was not taken, if it was alone. The caller runs the others anew.
func (p *Pool) RunEvents(ctx context.Context, program *EventProgram, events []Event, host EventHost,
	take func(i int, r *EventResult) error,
) error {
	if len(events) == 0 {
		return nil
	}
	longest := program.opts.Timeout
	size := 128
	for i := range events {
		size += len(events[i].Doc) + len(events[i].Meta) + len(events[i].Context) + 64
		longest = max(longest, events[i].Timeout)
	}
	room := eventPayload(size)
	e := encoder{b: *room}
	defer func() { *room = e.b; keepPayload(room) }()
	e.b = append(e.b, program.key[:]...)
	e.uint(uint64(program.opts.Timeout))
	encodeEvents(&e, events)
	taken := 0
	r := &request{
		tenant: program.opts.Tenant, command: commandEvents, payload: e.b, program: program.key,
		source: func(digest) []byte { return program.encoded },
		bound:  longest + slack + killGrace + program.compileTime(),
		chunk: func(payload []byte) error {
			d := decoder{b: payload}
			for len(d.b) > 0 {
				result := decodeEventResult(&d)
				if d.err != nil || taken == len(events) {
					return compat.NewError(compat.KindInternal, errFrame.Error())
				}
				taken++
				if err := take(taken-1, result); err != nil {
					return err
				}
			}
			return nil
		},
	}
	r.answer = func(payload []byte) ([]byte, error) { return program.answer(ctx, host, longest, payload) }
	end, err := p.do(ctx, r)
	if err != nil {
		return err
	}
	if len(end) > 0 {
		if refused := decodeSyntaxError(end); refused != nil {
			return refused
		}
	}
	if taken != len(events) {
		return compat.NewError(compat.KindInternal, errFrame.Error())
	}
	return nil
}

// payloads are encoded events of calls that have ended: each is about a megabyte where many events
// come together, and nobody has a part of it.
var payloads sync.Pool

// maxKeptPayload bounds those that are kept, minKeptPayload is the size from which on it is worth
// the while.
const (
	minKeptPayload = 64 << 10
	maxKeptPayload = 4 << 20
)

// eventPayload is an empty payload with room for so many bytes.
func eventPayload(size int) *[]byte {
	if size >= minKeptPayload {
		if b, ok := payloads.Get().(*[]byte); ok && cap(*b) >= size {
			*b = (*b)[:0]
			return b
		}
	}
	b := make([]byte, 0, size)
	return &b
}

// keepPayload leaves the memory of a payload to later ones.
func keepPayload(b *[]byte) {
	if size := cap(*b); size >= minKeptPayload && size <= maxKeptPayload {
		payloads.Put(b)
	}
}

// KilledEvent tells what became of an event whose worker had to be killed, from the error of
// RunEvents; nil if the error is another one.
func KilledEvent(err error) *EventResult {
	var known *compat.Error
	switch {
	case errors.Is(err, errTimedOut):
		return &EventResult{Outcome: EventTimedOut, Failure: timedOutFailure("")}
	case errors.Is(err, errTooMuch), errors.As(err, &known) &&
		(strings.HasPrefix(known.Reason, OutOfMemory) || strings.HasPrefix(known.Reason, crashed)):
		_ = errors.As(err, &known)
		failure := &EventFailure{Name: "InternalError", Message: known.Reason}
		return &EventResult{Outcome: EventFailed, Failure: failure}
	}
	return nil
}

func timedOutFailure(handler string) *EventFailure {
	const text = "the handler took longer than its execution_timeout"
	return &EventFailure{Name: "Timeout", Message: text, Handler: handler}
}
