package tracing

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"time"
)

// The keys of attributes whose values are names that users have chosen.
const (
	Database = "db.namespace"
	Design   = "settee.design"
	Function = "settee.function"
)

// IsName reports whether the value of an attribute is a name that a user has chosen.
func IsName(key string) bool { return key == Database || key == Design || key == Function }

const (
	mostAttributes = 32
	mostText       = 256 // bytes
)

// Kind is the kind of a span. The numbers are those of trace.proto.
type Kind uint8

// What a span is: a part of the server's work, a request that it answers or makes.
const (
	Internal Kind = 1
	Server   Kind = 2
	Client   Kind = 3
)

// Attribute is a text or a number that is known of a span.
type Attribute struct {
	Key    string
	Text   string
	Number int64
	IsText bool
}

// Record is a span that has ended. It does not change any more.
type Record struct {
	Context
	Parent       [8]byte // zero: the span begins its trace, or what this server knows of it
	ParentRemote bool
	Name         string
	Kind         Kind
	Start, End   time.Time
	Attributes   []Attribute
	Failed       bool
}

// Tracer begins traces. A nil one begins none. It is safe for concurrent use.
type Tracer struct {
	// Ratio is the part of all traces that is recorded; it is asked for each.
	Ratio func() float64
	// Ended takes a span that has ended, and does not wait.
	Ended func(*Record)
}

// inContext is the key of a *node in a context.
type inContext struct{}

// node is a span as contexts have it. Its record is nil if the trace is not recorded.
type node struct {
	Context
	tracer *Tracer

	mu     sync.Mutex
	record *Record
}

// nodeOf is the span of a context; nil if it has none.
func nodeOf(ctx context.Context) *node {
	n, _ := ctx.Value(inContext{}).(*node)
	return n
}

// Root begins a trace, of what runs for no request: a job, a batch of events.
func (t *Tracer) Root(ctx context.Context, name string) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	return t.begin(ctx, Context{}, name, Internal)
}

// Request begins the span of a request that the server answers, below the one that its headers name
// if they name one. A caller that does not record its trace has this server not record it; one that
// does has it decide by the id of the trace, as other servers with the same ratio do.
func (t *Tracer) Request(ctx context.Context, header Header) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	return t.begin(ctx, extract(header), "HTTP", Server)
}

// Outgoing begins the span of a request to another server: below that of ctx, or, where that has
// none and t is not nil, of a trace of its own.
func (t *Tracer) Outgoing(ctx context.Context, name string) (context.Context, Span) {
	if t != nil && nodeOf(ctx) == nil {
		return t.begin(ctx, Context{}, name, Client)
	}
	return below(ctx, name, Client)
}

// begin begins the first span that this server has of a trace; the zero parent is that of a new
// one. One that is not recorded is only in the context, for what is sent along.
func (t *Tracer) begin(ctx context.Context, parent Context, name string, kind Kind) (context.Context, Span) {
	own, known := parent, parent != Context{}
	if !known {
		binary.BigEndian.PutUint64(own.Trace[:8], rand.Uint64())
		binary.BigEndian.PutUint64(own.Trace[8:], rand.Uint64()|1)
	}
	own.Sampled = (!known || parent.Sampled) && sampled(own.Trace, t.Ratio())
	return t.add(ctx, own, parent, known, name, kind)
}

// sampled decides by the id of a trace (TraceIDRatioBased of OpenTelemetry).
func sampled(trace [16]byte, ratio float64) bool {
	return float64(binary.BigEndian.Uint64(trace[8:])>>1) < ratio*(1<<63)
}

// add makes a span and a context that has it.
func (t *Tracer) add(
	ctx context.Context, own, parent Context, remote bool, name string, kind Kind,
) (context.Context, Span) {
	binary.BigEndian.PutUint64(own.Span[:], rand.Uint64()|1)
	n := &node{Context: own, tracer: t}
	ctx = context.WithValue(ctx, inContext{}, n)
	if !own.Sampled {
		return ctx, Span{}
	}
	n.record = &Record{
		Context: own, Parent: parent.Span, ParentRemote: remote, Name: name, Kind: kind, Start: time.Now(),
	}
	return ctx, Span{n}
}

// Start begins a span below that of ctx. Where that has none that is recorded it returns ctx.
func Start(ctx context.Context, name string) (context.Context, Span) {
	return below(ctx, name, Internal)
}

func below(ctx context.Context, name string, kind Kind) (context.Context, Span) {
	parent := nodeOf(ctx)
	if parent == nil || !parent.Sampled {
		return ctx, Span{}
	}
	return parent.tracer.add(ctx, parent.Context, parent.Context, false, name, kind)
}

// Under returns ctx with the span of another context: for work that goes on when that one ends.
func Under(ctx, of context.Context) context.Context {
	if n := nodeOf(of); n != nil && n.Sampled {
		return context.WithValue(ctx, inContext{}, n)
	}
	return ctx
}

// Span is one that is recorded, or, the zero Span, none. Its methods may be called from several
// goroutines, and do nothing after End.
type Span struct{ node *node }

// Recorded reports whether there is one.
func (s Span) Recorded() bool { return s.node != nil }

// change has f change the record, unless there is none or it has ended.
func (s Span) change(f func(*Record)) {
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	if r := s.node.record; r != nil {
		f(r)
	}
}

// Rename gives the span another name.
func (s Span) Rename(name string) {
	if s.node != nil {
		s.change(func(r *Record) { r.Name = name })
	}
}

// String sets an attribute.
func (s Span) String(key, value string) {
	if s.node != nil {
		s.set(Attribute{Key: key, Text: value[:min(len(value), mostText)], IsText: true})
	}
}

// Int sets an attribute.
func (s Span) Int(key string, value int64) {
	if s.node != nil {
		s.set(Attribute{Key: key, Number: value})
	}
}

func (s Span) set(a Attribute) {
	s.change(func(r *Record) {
		for i := range r.Attributes {
			if r.Attributes[i].Key == a.Key {
				r.Attributes[i] = a
				return
			}
		}
		if len(r.Attributes) < mostAttributes {
			r.Attributes = append(r.Attributes, a)
		}
	})
}

// Fail marks the span as failed. It has no text: texts of errors name what users have chosen.
func (s Span) Fail() {
	if s.node != nil {
		s.change(func(r *Record) { r.Failed = true })
	}
}

// End ends the span; with an error it has failed.
func (s Span) End(err error) {
	if s.node == nil {
		return
	}
	var ended *Record
	s.change(func(r *Record) {
		r.End, r.Failed = time.Now(), r.Failed || err != nil
		ended, s.node.record = r, nil
	})
	if ended != nil {
		s.node.tracer.Ended(ended)
	}
}
