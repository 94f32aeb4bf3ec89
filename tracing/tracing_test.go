package tracing_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/tracing"
)

// TestOffCostsNothing: without a tracer, and below a span that is not recorded, no span is begun
// and nothing is allocated.
func TestOffCostsNothing(t *testing.T) {
	var none *tracing.Tracer
	header := http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
	unsampled := tracing.Tracer{Ratio: func() float64 { return 0 }}
	below, _ := unsampled.Root(t.Context(), "job")
	for name, ctx := range map[string]context.Context{"no span": t.Context(), "not recorded": below} {
		require.Zero(t, testing.AllocsPerRun(100, func() {
			in, root := none.Root(ctx, "job")
			in, request := none.Request(in, header)
			in, span := tracing.Start(in, "store read")
			in, out := none.Outgoing(in, "HTTP")
			span.String(tracing.Database, "db")
			span.Int("settee.keys", 1<<40)
			span.Fail()
			span.End(nil)
			if in = tracing.Under(in, ctx); in != ctx || root.Recorded() || request.Recorded() || out.Recorded() {
				panic("a span")
			}
		}), name)
	}
}

// parent is what a request belongs to by its headers; known is false if they name nothing. again
// are the headers that a request to another server has.
func parent(header http.Header) (r *tracing.Record, known bool, again http.Header) {
	tracer := tracing.Tracer{Ratio: func() float64 { return 1 }, Ended: func(ended *tracing.Record) { r = ended }}
	ctx, span := tracer.Request(context.Background(), header)
	again = make(http.Header)
	tracing.Inject(ctx, again)
	span.End(nil)
	span.End(nil) // nothing more
	return r, r == nil || r.ParentRemote, again
}

// TestTraceOfTheCaller: a request belongs to the trace that its client names, if the header is as
// W3C has it; a tracestate longer than 512 bytes is left out.
func TestTraceOfTheCaller(t *testing.T) {
	good := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	r, known, again := parent(http.Header{"Traceparent": {good}, "Tracestate": {"a=b"}})
	require.True(t, known)
	require.Equal(t, good[3:52], fmt.Sprintf("%x-%x", r.Trace, r.Parent))
	require.Equal(t, "a=b", again.Get("Tracestate"))
	require.Equal(t, fmt.Sprintf("00-%x-%x-01", r.Trace, r.Span), again.Get("Traceparent"))
	_, known, again = parent(http.Header{"Traceparent": {good}, "Tracestate": {"a=" + strings.Repeat("b", 511)}})
	require.True(t, known)
	require.Empty(t, again.Get("Tracestate"))
	r, _, again = parent(http.Header{"Traceparent": {good[:53] + "00"}})
	require.Nil(t, r, "the caller does not record it")
	require.Equal(t, "00", again.Get("Traceparent")[53:])
	_, known, _ = parent(http.Header{"Traceparent": {"01" + good[2:] + "-more"}})
	require.True(t, known)
	for _, bad := range []string{
		"", "00", good[:54], "ff" + good[2:], strings.ToUpper(good), good + "-", "01" + good[2:] + "more",
		"00-" + strings.Repeat("0", 32) + good[35:], good[:36] + strings.Repeat("0", 16) + "-01",
		good[:54] + "x", "0x" + good[2:],
	} {
		_, known, again := parent(http.Header{"Traceparent": {bad}})
		require.False(t, known, bad)
		require.Len(t, again.Get("Traceparent"), 55, "a trace of its own")
	}
}

// FuzzTraceparent: whatever the headers are, there is a span; it belongs to another trace only if
// the first 55 bytes are lower-case hex in four parts, and what is sent on is well formed.
func FuzzTraceparent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "a=b,c=d")
	f.Add("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-09-more", "a@b=c")
	f.Add("00-00000000000000000000000000000000-b7ad6b7169203331-01", ",,=")
	f.Fuzz(func(t *testing.T, header, state string) {
		_, known, sent := parent(http.Header{"Traceparent": {header}, "Tracestate": {state}})
		if known {
			require.GreaterOrEqual(t, len(header), 55)
			require.Equal(t, header[2:36], sent.Get("Traceparent")[2:36])
		}
		require.Regexp(t, "^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$", sent.Get("Traceparent"))
		require.Regexp(t, "^[ -~]{0,512}$", sent.Get("Tracestate"))
		_, known, again := parent(sent)
		require.True(t, known)
		require.Equal(t, sent.Get("Traceparent")[:36], again.Get("Traceparent")[:36])
	})
}
