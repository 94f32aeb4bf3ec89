package js

import (
	"context"
	"errors"
	"time"

	"github.com/settee-db/settee/compat"
)

// EventHost gives invocations access to what is outside of the worker: documents, timers, queries,
// other servers. The pool calls it while RunEvents runs, one call at a time. Contexts end with the
// time of the invocation. An *EventError becomes an exception in the handler, any other error ends
// RunEvents (see ErrEnough).
type EventHost interface {
	// Get reads a document of the binding with this number in EventOptions.Bindings, as the results
	// that were taken and the effects that were flushed leave it. A worker asks once for a document
	// in a call of RunEvents, and knows its own writes.
	Get(ctx context.Context, binding int, id string) (EventDoc, error)
	// Revision tells which revision a document will have that the running invocation gives this
	// body, if it gives it none after; empty for one that will be refused.
	Revision(ctx context.Context, binding int, id string, body []byte) (string, error)
	// HasTimer tells whether a timer is there that the call of RunEvents has not touched.
	HasTimer(ctx context.Context, callback, reference string) (bool, error)
	// Flush gives the effects of the running invocation so far, or since the last Flush, before a
	// query that may see what they change. If the result of the invocation is not EventDone, they
	// are void, and what queries changed too.
	Flush(effects []EventEffect) error
	// Query begins a statement, or only checks it if it says so; a handle of 0 has no rows. After a
	// change of documents the worker forgets what it has read.
	Query(ctx context.Context, q EventQuery) (handle uint64, changed bool, err error)
	// Rows gives the next rows of a query, each JSON; done: there are no more, and the handle is
	// closed. There may be no rows though more will come.
	Rows(ctx context.Context, handle uint64) (rows [][]byte, done bool, err error)
	// CloseQuery ends a query before its end.
	CloseQuery(handle uint64)
	// Curl makes a request to the URL of a binding.
	Curl(ctx context.Context, r EventRequest) (EventResponse, error)
}

// EventDoc is a document as the host knows it. Its body is an object, without members that say what
// it is (_id, _rev).
type EventDoc struct {
	Exists   bool
	Body     []byte
	Cas      string // its revision; empty if handlers have written it: see EventHost.Revision
	Expiry   int64  // milliseconds since 1970; 0: it does not expire
	Datatype string // "json" if it is empty
}

// EventQuery is a statement with its parameters, an object or an array as JSON, and its options, an
// object; both may be empty. A statement that only reads is checked where it stands, and run where
// its first row is wanted.
type EventQuery struct {
	Text            string
	Params, Options []byte
	Check           bool
}

// EventRequest is the request of a call of curl(). The path and the parameters come after the URL
// of the binding.
type EventRequest struct {
	Binding         int // the number in EventOptions.Curls
	Method, Path    string
	Params, Headers [][2]string
	HasBody         bool
	Body            []byte
	Redirect        bool          // whether redirections are followed
	Timeout         time.Duration // 0: none of its own
}

// EventResponse is the answer to an EventRequest.
type EventResponse struct {
	Status  int
	Headers [][2]string
	Body    []byte
}

// EventEffectKind says what an effect does.
type EventEffectKind byte

// The kinds of effects.
const (
	EffectSet EventEffectKind = iota + 1
	EffectDelete
	EffectCreateTimer
	EffectCancelTimer
	EffectPublish
)

// EventEffect is a write of a handler.
type EventEffect struct {
	Kind EventEffectKind
	// A set or delete is of the document ID of Database, which need not be there. The body is an
	// object; see EventValueMember for others.
	Database, ID  string
	Body          []byte
	Expiry        int64 // milliseconds since 1970; 0: the document does not expire
	SelfRecursion bool  // the function shall see the change if it is in its source
	// A timer calls Callback with Context, nil for undefined, when Due has come, in milliseconds
	// since 1970. A callback and a reference have one timer. Of a message Callback is the binding
	// that it goes to, Reference its id, empty for none, and Context headers, text and base64 as JSON.
	Callback, Reference string
	Due                 int64
	Context             []byte
}

// EventValueMember is the only member of the document that stands for a value which is no object:
// handlers may write numbers, texts and arrays as in Couchbase, and read them back.
const EventValueMember = "$value"

// EventBinaryMember is the only member of the document that stands for an ArrayBuffer: its bytes in
// base64.
const EventBinaryMember = "$binary"

// What a worker asks for. The first byte of a question is one of these, then come the milliseconds
// that are left.
const (
	askGet byte = iota + 1
	askTimer
	askFlush
	askQuery
	askRows
	askClose
	askCurl
	askRevision
	askDebugger
)

// answer answers a question of a worker. The answer begins with a zero byte, that of an EventError
// with a one.
func (p *EventProgram) answer(ctx context.Context, host EventHost, longest time.Duration, payload []byte) (
	[]byte, error,
) {
	d := decoder{b: payload}
	if len(payload) == 0 {
		return nil, errFrame
	}
	what := payload[0]
	d.b = d.b[1:]
	left := time.Duration(min(d.uint(), uint64(longest.Milliseconds())+1)) * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	e := encoder{b: []byte{0}}
	err := p.askHost(ctx, host, what, &d, &e)
	if d.err != nil {
		return nil, compat.NewError(compat.KindInternal, d.err.Error())
	}
	var seen *EventError
	switch {
	case err == nil:
		return e.b, nil
	case errors.As(err, &seen):
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
		seen = &EventError{Code: EventCurlTimedOut, Name: "Timeout", Desc: "the time of the handler is over"}
	default:
		return nil, err
	}
	e.b = append(e.b[:0], 1)
	encodeEventError(&e, seen)
	return e.b, nil
}

// askHost decodes one question of a handler, passes it to the host and encodes the answer into e.
// A worker is not trusted: each question is decoded completely and checked before the host sees
// it, and numbers of bindings are below the number of bindings that the program has. The error is
// the host's, or that of the decoder for a malformed question.
func (p *EventProgram) askHost(ctx context.Context, host EventHost, what byte, d *decoder, e *encoder) error {
	switch what {
	case askGet:
		return p.askDocument(ctx, host, d, e)
	case askTimer:
		callback, reference := d.string(), d.string()
		if d.err != nil {
			return d.err
		}
		found, err := host.HasTimer(ctx, callback, reference)
		e.bool(found)
		return err
	case askFlush:
		effects := decodeEffects(d)
		if d.err != nil {
			return d.err
		}
		return host.Flush(effects)
	case askQuery:
		q := EventQuery{Text: d.string(), Params: d.bytes(), Options: d.bytes(), Check: d.bool()}
		if d.err != nil {
			return d.err
		}
		handle, changed, err := host.Query(ctx, q)
		e.uint(handle)
		e.bool(changed)
		return err
	case askRows:
		handle := d.uint()
		if d.err != nil {
			return d.err
		}
		rows, done, err := host.Rows(ctx, handle)
		e.bool(done)
		e.list(rows)
		return err
	case askClose:
		handle := d.uint()
		if d.err == nil {
			host.CloseQuery(handle)
		}
		return d.err
	case askCurl:
		return p.askURL(ctx, host, d, e)
	case askRevision:
		binding, id, body := boundedNumber(d, len(p.opts.Bindings)), d.string(), d.bytes()
		if d.err != nil {
			return d.err
		}
		rev, err := host.Revision(ctx, binding, id, body)
		e.string(rev)
		return err
	case askDebugger:
		return askDebuggerOf(ctx, host, d, e)
	}
	d.fail()
	return d.err
}

func (p *EventProgram) askDocument(ctx context.Context, host EventHost, d *decoder, e *encoder) error {
	binding, id := boundedNumber(d, len(p.opts.Bindings)), d.string()
	if d.err != nil {
		return d.err
	}
	doc, err := host.Get(ctx, binding, id)
	e.bool(doc.Exists)
	e.bytes(doc.Body)
	e.string(doc.Cas)
	e.uint(uint64(max(0, doc.Expiry)))
	e.string(doc.Datatype)
	return err
}

func (p *EventProgram) askURL(ctx context.Context, host EventHost, d *decoder, e *encoder) error {
	r := EventRequest{Binding: boundedNumber(d, len(p.opts.Curls)), Method: d.string(), Path: d.string()}
	r.Params, r.Headers = decodePairs(d), decodePairs(d)
	r.HasBody, r.Body, r.Redirect = d.bool(), d.bytes(), d.bool()
	r.Timeout = time.Duration(min(d.uint(), uint64(24*time.Hour/time.Millisecond))) * time.Millisecond
	if d.err != nil {
		return d.err
	}
	response, err := host.Curl(ctx, r)
	e.uint(uint64(max(0, response.Status)))
	encodePairs(e, response.Headers)
	e.bytes(response.Body)
	return err
}
