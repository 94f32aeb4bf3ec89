package otlp

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/settee-db/settee/tracing"
)

// The messages of trace.proto as their JSON form has them: ids in hex, 64 bit numbers as strings,
// enumerations as numbers, names in lowerCamelCase.
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resourceJSON `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resourceJSON struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope scopeJSON  `json:"scope"`
		Spans []spanJSON `json:"spans"`
	}
	scopeJSON struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	spanJSON struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		TraceState string     `json:"traceState,omitempty"`
		Parent     string     `json:"parentSpanId,omitempty"`
		Flags      uint32     `json:"flags"`
		Name       string     `json:"name"`
		Kind       int        `json:"kind"`
		Start      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes []keyValue `json:"attributes,omitempty"`
		Status     *status    `json:"status,omitempty"`
	}
	status struct {
		Code int `json:"code"`
	}
	keyValue struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		String *string `json:"stringValue,omitempty"`
		Int    *string `json:"intValue,omitempty"`
	}
)

// Flags of a span: that of W3C, that it is known whether the parent is elsewhere, and that it is.
const (
	sampledFlag = 0x1
	knowsRemote = 0x100
	remote      = 0x200
)

// statusError is Status.STATUS_CODE_ERROR.
const statusError = 2

// scope names what makes the spans.
const scope = "github.com/settee-db/settee"

// encode makes the body of a request of spans. hide is what names of users become, nil if they are
// shown.
func encode(resource []keyValue, version string, spans []*tracing.Record, hide func(string) string) ([]byte, error) {
	list := make([]spanJSON, len(spans))
	for i, s := range spans {
		list[i] = spanOf(s, hide)
	}
	return json.Marshal(request{[]resourceSpans{{
		Resource:   resourceJSON{resource},
		ScopeSpans: []scopeSpans{{Scope: scopeJSON{Name: scope, Version: version}, Spans: list}},
	}}})
}

func spanOf(s *tracing.Record, hide func(string) string) spanJSON {
	out := spanJSON{
		TraceID: hex.EncodeToString(s.Trace[:]), SpanID: hex.EncodeToString(s.Span[:]),
		TraceState: s.State, Flags: sampledFlag | knowsRemote,
		Name: s.Name, Kind: int(s.Kind), Start: nanoseconds(s.Start), End: nanoseconds(s.End),
	}
	if s.Parent != [8]byte{} {
		out.Parent = hex.EncodeToString(s.Parent[:])
	}
	if s.ParentRemote {
		out.Flags |= remote
	}
	for _, a := range s.Attributes {
		out.Attributes = append(out.Attributes, attributeOf(a, hide))
	}
	if s.Failed {
		out.Status = &status{statusError}
	}
	return out
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func attributeOf(a tracing.Attribute, hide func(string) string) keyValue {
	switch {
	case !a.IsText:
		n := strconv.FormatInt(a.Number, 10)
		return keyValue{a.Key, value{Int: &n}}
	case hide != nil && tracing.IsName(a.Key):
		return text(a.Key, hide(a.Text))
	}
	return text(a.Key, strings.ToValidUTF8(a.Text, "\uFFFD"))
}

func text(key, s string) keyValue { return keyValue{key, value{String: &s}} }
