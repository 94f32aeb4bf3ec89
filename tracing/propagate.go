package tracing

import (
	"context"
	"encoding/hex"
)

// Header is where the context of a trace is read from and written to; http.Header is one.
type Header interface {
	Get(name string) string
	Set(name, value string)
}

// Context is what servers tell each other of a span. The zero Context is none.
type Context struct {
	Trace   [16]byte
	Span    [8]byte
	Sampled bool
	State   string // tracestate, passed on as it came
}

// mostState is how long a tracestate may be, in bytes: what has to be passed on by the
// specification. A longer one is left out.
const mostState = 512

// extract reads traceparent and tracestate (W3C Trace Context, level 1): the zero Context if they
// name no span.
func extract(header Header) Context {
	c, ok := parseParent(header.Get("Traceparent"))
	if !ok {
		return Context{}
	}
	if state := header.Get("Tracestate"); len(state) <= mostState && printable(state) {
		c.State = state
	}
	return c
}

// parentLength is that of the four fields of a traceparent: version, trace, span and flags.
const parentLength = 2 + 1 + 32 + 1 + 16 + 1 + 2

// parseParent reads a traceparent. A later version than 00 may have more fields behind the four.
func parseParent(text string) (c Context, ok bool) {
	if len(text) < parentLength || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return c, false
	}
	if len(text) > parentLength && (text[:2] == "00" || text[parentLength] != '-') {
		return c, false
	}
	var version, flags [1]byte
	for _, field := range []struct {
		into []byte
		text string
	}{{version[:], text[:2]}, {c.Trace[:], text[3:35]}, {c.Span[:], text[36:52]}, {flags[:], text[53:55]}} {
		for i := range len(field.text) {
			if b := field.text[i]; b >= 'A' && b <= 'F' { // the specification has small letters only
				return Context{}, false
			}
		}
		if _, err := hex.Decode(field.into, []byte(field.text)); err != nil {
			return Context{}, false
		}
	}
	if version[0] == 0xff || c.Trace == [16]byte{} || c.Span == [8]byte{} {
		return Context{}, false
	}
	c.Sampled = flags[0]&1 != 0
	return c, true
}

func printable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// Inject writes traceparent and tracestate of the context's span, also of one that is not recorded,
// so that the other server does not record it either. Without one it leaves the header as it is.
func Inject(ctx context.Context, header Header) {
	n := nodeOf(ctx)
	if n == nil {
		return
	}
	flags := "-00"
	if n.Sampled {
		flags = "-01"
	}
	header.Set("Traceparent", "00-"+hex.EncodeToString(n.Trace[:])+"-"+hex.EncodeToString(n.Span[:])+flags)
	if n.State != "" {
		header.Set("Tracestate", n.State)
	}
}
