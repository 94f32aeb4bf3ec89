package js

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/dop251/goja"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// cutText cuts a text to at most so many bytes, not inside a character.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

var errLargeAnswer = errors.New("the answer of OnRequest has more than " + itoa(MaxEventAnswer>>20) + " MB as JSON")

// errEventTimeout interrupts a handler.
var errEventTimeout = errors.New("js: the time of the handler is over")

const (
	// usualResults is how many bytes of results are sent together, maxKeptResults how much room a
	// worker keeps.
	usualResults   = 256 << 10
	maxKeptResults = 2 * usualResults
)

// runEvents is the worker's side of RunEvents: payload is the digest of the program, the time for
// an invocation and the events; chunks hold results.
func runEvents(w *worker, payload []byte) ([]byte, error) {
	if len(payload) < len(digest{}) {
		return nil, errFrame
	}
	program, err := kept(w, digest(payload[:len(digest{})]), compileEvents)
	if err != nil {
		return nil, err
	}
	if program.refused != nil {
		return encodeSyntaxError(program.refused), nil
	}
	d := decoder{b: payload[len(digest{}):]}
	b := newEventBatch(w, program, time.Duration(d.uint()&^(1<<63)))
	b.results.b, w.results = w.results[:0], nil
	defer func() {
		if b.clock.stop(); cap(b.results.b) <= maxKeptResults {
			w.results = b.results.b
		}
	}()
	for n := d.count(); n > 0 && d.err == nil; n-- {
		event := decodeEvent(&d)
		if d.err != nil {
			break
		}
		if w.stopped() {
			break
		}
		result, refused, err := b.invoke(&event)
		if errors.Is(err, errStopped) {
			program.realm = nil // it was in the middle of something
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if refused != nil {
			return encodeSyntaxError(refused), b.flush()
		}
		encodeEventResult(&b.results, result)
		if len(b.results.b) >= usualResults || w.due() {
			if err := b.flush(); err != nil {
				return nil, err
			}
		}
	}
	if d.err != nil {
		return nil, d.err
	}
	if r := program.realm; r != nil {
		r.batch, r.run = nil, nil // it may be long until the next call
	}
	return nil, b.flush()
}

// eventBatch is the state of a call of RunEvents in the worker.
type eventBatch struct {
	w       *worker
	program *eventProgram
	timeout time.Duration
	results encoder // that are not sent yet
	// Documents that were read or written, and timers: those of invocations that succeeded.
	docs   map[docKey]*eventDoc
	timers map[timerKey]bool
	spare  map[docKey]*eventDoc // an empty one, for the documents of the next invocation
	held   int                  // bytes of documents that were read
	clock  eventClock
}

type docKey struct{ database, id string }

type timerKey struct{ callback, reference string }

// eventDoc is a document as the batch sees it.
type eventDoc struct {
	exists   bool
	body     []byte
	cas      string // empty: it was written, and nobody has asked yet
	expiry   int64
	datatype string
	written  bool // by the batch
}

func newEventBatch(w *worker, program *eventProgram, timeout time.Duration) *eventBatch {
	return &eventBatch{
		w: w, program: program, timeout: timeout, docs: map[docKey]*eventDoc{}, timers: map[timerKey]bool{},
	}
}

// flush sends the results that wait.
func (b *eventBatch) flush() error {
	if len(b.results.b) == 0 {
		return nil
	}
	err := b.w.chunk(b.results.b)
	b.results.b = b.results.b[:0]
	return err
}

// forget drops what was read and written: the host knows it, or shall be asked again. All results
// must have been sent.
func (b *eventBatch) forget() {
	clear(b.docs)
	clear(b.timers)
	b.held = 0
}

// maxSpareDocs bounds the documents of an invocation whose map another one gets: to clear it takes
// as long as it was.
const maxSpareDocs = 64

// invocation is one call of a handler.
type invocation struct {
	docs      map[docKey]*eventDoc
	timers    map[timerKey]bool
	refusals  []EventRefusal
	effects   []EventEffect // since the last flush
	made      int           // effects in all
	bytes     int           // of them
	flushed   bool          // the host has effects, or has run a query
	queries   map[uint64]bool
	logs      []string
	told      int // of the logs, which the host of a debugger knows
	counters  map[string]int64
	lines     []EventLine
	marks     []mark
	lastError string
	deadline  time.Time
	answer    []byte // to a request of HTTP, as JSON
	broken    error  // the conversation with the host
}

// mark is a call of a provided function that has not returned.
type mark struct {
	line  int
	began time.Time
}

func (v *invocation) count(name string, n int64) {
	if v.counters == nil {
		v.counters = map[string]int64{}
	}
	v.counters[name] += n
}

// lineOf is the count of a line; a last one for all lines beyond those that are counted.
func (v *invocation) lineOf(line int) *EventLine {
	for i := range v.lines {
		if v.lines[i].Line == line || i == maxEventLines-1 {
			return &v.lines[i]
		}
	}
	v.lines = append(v.lines, EventLine{Line: line})
	return &v.lines[len(v.lines)-1]
}

// invoke calls the handler of an event. refused: the realm cannot be made. An error is one of the
// worker.
func (b *eventBatch) invoke(event *Event) (r *EventResult, refused *EventSyntaxError, err error) {
	began := time.Now()
	timeout := b.timeout
	if event.Timeout > 0 {
		timeout = event.Timeout
	}
	run := &invocation{refusals: event.Refusals, deadline: began.Add(timeout)}
	name := handlerOf(event)
	if !b.program.has(name) || event.Kind == EventUpdate && b.program.hidesBinary() && isBinary(event.Doc) {
		return &EventResult{Outcome: EventSkipped, Took: time.Since(began)}, nil, nil
	}
	run.docs, b.spare = b.spare, nil
	b.clock.begin(run.deadline)
	r = &EventResult{Outcome: EventDone}
	realm, err := b.realm()
	if err == nil {
		realm.batch, realm.run = b, run
		realm.vm.SetTimeSource(event.clock())
		err = realm.awaitDebugger()
		if err == nil {
			err = realm.call(event, name)
		}
		realm.endDebugger(err)
		if err == nil && time.Now().After(run.deadline) {
			err = &goja.InterruptedError{} // in a native function, at the end
		}
		if err != nil {
			r.Outcome = EventFailed
			var timedOut bool
			if r.Failure, timedOut = realm.failure(err, name); timedOut {
				r.Outcome = EventTimedOut
			}
		}
	} else if interrupted := (*goja.InterruptedError)(nil); errors.As(err, &interrupted) {
		r.Outcome, r.Failure = EventTimedOut, timedOutFailure(name)
	} else {
		refused = b.program.startError(err)
	}
	b.clock.end()
	if run.broken != nil {
		return nil, nil, run.broken
	}
	if refused != nil {
		return nil, refused, nil
	}
	var exception *goja.Exception
	if errors.As(err, &exception) {
		realm.uses += usesPerException
	}
	if err != nil && exception == nil || realm.uses >= eventsPerRealm || !realm.isPristine() {
		b.program.realm = nil
	}
	return r, nil, b.finish(run, r, began)
}

// clock is what the handler of the event takes for the time.
func (e *Event) clock() goja.Now {
	if e.Now == 0 {
		return time.Now
	}
	now := time.UnixMilli(e.Now)
	return func() time.Time { return now }
}

// realm is the realm for the next invocation.
func (b *eventBatch) realm() (*eventRealm, error) {
	if r := b.program.realm; r != nil {
		r.vm.ClearInterrupt()
		b.clock.watch(r.vm)
		r.uses++
		return r, nil
	}
	r, err := b.newRealm()
	if err != nil {
		return nil, err
	}
	r.uses = 1
	b.program.realm = r
	b.w.keepWarm(b.program)
	return r, nil
}

// maxWarm is the number of programs that have a realm in a worker: it has a megabyte before it does
// anything.
const maxWarm = 8

// keepWarm notes that a program has a realm; the one that got its realm first loses it.
func (w *worker) keepWarm(p *eventProgram) {
	w.warm = slices.DeleteFunc(w.warm, func(other *eventProgram) bool { return other == p || other.realm == nil })
	w.warm = append(w.warm, p)
	if len(w.warm) > maxWarm {
		w.warm[0].realm = nil
		w.warm = slices.Delete(w.warm, 0, 1)
	}
}

// finish closes what an invocation has left open, and keeps or drops what it did.
func (b *eventBatch) finish(run *invocation, r *EventResult, began time.Time) error {
	for handle := range run.queries {
		if err := b.closeQuery(handle); err != nil {
			return err
		}
	}
	if r.Outcome == EventDone {
		maps.Copy(b.docs, run.docs)
		for key, there := range run.timers {
			b.timers[key] = there
		}
		r.Effects, r.Answer = run.effects, run.answer
	} else if run.flushed {
		b.forget() // the results before have been sent, and the host takes back what this one did
	}
	if len(run.docs) <= maxSpareDocs {
		clear(run.docs)
		b.spare = run.docs
	}
	if f := r.Failure; f != nil && f.Line > 0 {
		l := run.lineOf(f.Line)
		l.Errors = max(l.Errors, 1)
		l.LastError = cutText(f.Name+": "+f.Message, 500)
	}
	r.Logs, r.Counters, r.Lines = run.logs, run.counters, run.lines
	r.Took = time.Since(began)
	return nil
}

// handlerOf is the function that an event calls.
func handlerOf(event *Event) string {
	switch event.Kind {
	case EventUpdate:
		return "OnUpdate"
	case EventDelete:
		return "OnDelete"
	case EventDeploy:
		return "OnDeploy"
	case EventUndeploy:
		return "OnUndeploy"
	case EventHTTP:
		return "OnRequest"
	}
	return event.Callback
}

// call calls the handler with what the event says.
func (r *eventRealm) call(event *Event, name string) error {
	r.partial.object = nil
	var args [3]goja.Value
	n := 0
	add := func(text []byte, read func([]byte) (goja.Value, error)) error {
		v, err := read(text)
		args[n] = v
		n++
		return err
	}
	var err error
	switch event.Kind {
	case EventUpdate:
		binary := isBinary(event.Doc)
		doc, meta := &r.program.uses[0], &r.program.uses[1]
		if !doc.Mentioned {
			event.Doc = nil
		}
		if !meta.Mentioned {
			event.Meta = nil
		}
		if args[0], err = r.document(event.Doc, doc); err == nil {
			args[1], err = r.metaFor(event.Meta, meta)
		}
		n = 2
		if meta, ok := args[1].(*goja.Object); ok && err == nil && binary {
			err = meta.Set("datatype", "binary")
		}
		if err == nil && len(event.Options) > 0 {
			err = add(event.Options, r.plain)
		} else if err == nil && r.attributes {
			args[n] = r.vm.NewObject() // extended attributes, which no document has
			n++
		}
	case EventDelete:
		if err = add(event.Meta, r.meta); err == nil {
			err = add(event.Options, r.plain)
		}
	case EventDeploy, EventUndeploy, EventHTTP:
		err = add(event.Options, r.plain)
	default:
		err = add(event.Context, r.plain)
	}
	if err != nil {
		return err
	}
	v, err := r.handlers[name](goja.Undefined(), args[:n]...)
	if err == nil && event.Kind == EventHTTP {
		if v, err = r.answer(goja.Undefined(), v); err == nil {
			r.run.answer = []byte(v.String())
		}
		if len(r.run.answer) > MaxEventAnswer {
			err = errLargeAnswer
		}
	}
	return err
}

// hidesBinary: before version 6.6.2 handlers were not called for binary documents.
func (p *eventProgram) hidesBinary() bool { return p.release < 60602 }

// plain makes the value of a JSON text, undefined of an empty one.
func (x *eventValues) plain(text []byte) (goja.Value, error) {
	if len(text) == 0 {
		return goja.Undefined(), nil
	}
	return x.parse(text, false)
}

// meta makes the description of a document, whose expiry_date is a Date.
func (x *eventValues) meta(text []byte) (goja.Value, error) {
	v, err := x.plain(text)
	if err != nil {
		return nil, err
	}
	if o, ok := v.(*goja.Object); ok {
		return x.withDate(o)
	}
	return v, nil
}

func (x *eventValues) withDate(o *goja.Object) (goja.Value, error) {
	expires := o.Get("expiry_date")
	if expires == nil {
		return o, nil
	}
	date, err := x.vm.New(x.date, expires)
	if err != nil {
		return nil, err
	}
	return o, o.Set("expiry_date", date)
}
