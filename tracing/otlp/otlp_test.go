package otlp

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/tracing"
)

// open starts an exporter to a collector, which ends with the test.
func open(t *testing.T, collector http.HandlerFunc, change func(*Options)) *Exporter {
	server := httptest.NewServer(collector)
	t.Cleanup(server.Close)
	u, err := ParseEndpoint(server.URL)
	require.NoError(t, err)
	o := Options{
		Endpoint: u, Service: "settee", Version: "1", Instance: "node", Key: []byte("key"),
		Headers: func() http.Header { return ParseHeaders("authorization=Bearer%20x,y=1") },
		Ratio:   func() float64 { return 1 }, Names: func() bool { return false },
		Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	e := New(o)
	t.Cleanup(e.Close)
	return e
}

// counts are the spans by what became of them.
func counts(t *testing.T, e *Exporter) map[string]int {
	registry := prometheus.NewRegistry()
	require.NoError(t, registry.Register(e))
	families, err := registry.Gather()
	require.NoError(t, err)
	all := map[string]int{}
	for _, family := range families {
		require.Equal(t, dto.MetricType_COUNTER, family.GetType())
		for _, m := range family.GetMetric() {
			all[m.GetLabel()[0].GetValue()] = int(m.GetCounter().GetValue())
		}
	}
	return all
}

// some ends so many spans.
func some(t *testing.T, e *Exporter, spans int) {
	for range spans {
		_, span := e.Tracer().Root(t.Context(), "a")
		span.End(nil)
	}
}

// TestJSON: the body is what trace.proto's JSON form has, with no member besides; names that users
// have chosen are hashes.
func TestJSON(t *testing.T) {
	bodies := make(chan string, 1)
	e := open(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Method != "POST" || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" ||
			r.Header.Get("Authorization") != "Bearer x" || r.Header.Get("Y") != "1" {
			panic(r)
		}
		text, _ := io.ReadAll(r.Body)
		bodies <- string(text)
	}, nil)
	header := http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, "Tracestate": {"a=b"}}
	ctx, span := e.Tracer().Request(t.Context(), header)
	span.Rename("GET /{db}")
	span.String(tracing.Database, "accounts")
	span.String("http.route", strings.Repeat("é", 200))
	span.Int("http.response.status_code", 1<<60)
	_, child := tracing.Start(ctx, "store read")
	child.End(io.EOF)
	span.End(nil)
	e.Close()
	require.Equal(t, map[string]int{sent: 2, full: 0, failed: 0, rejected: 0}, counts(t, e))

	text := <-bodies
	require.NotContains(t, text, "accounts")
	var body request
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&body))
	spans := body.ResourceSpans[0].ScopeSpans[0].Spans
	require.Len(t, spans, 2)
	inner, outer := spans[0], spans[1] // in the order of their ends
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", outer.TraceID)
	require.Equal(t, "b7ad6b7169203331", outer.Parent)
	require.Equal(t, "a=b", outer.TraceState)
	require.EqualValues(t, 0x301, outer.Flags, "sampled, and the parent is elsewhere")
	require.EqualValues(t, 0x101, inner.Flags)
	require.Equal(t, 2, outer.Kind, "SPAN_KIND_SERVER")
	require.Equal(t, 1, inner.Kind, "SPAN_KIND_INTERNAL")
	require.Equal(t, outer.SpanID, inner.Parent)
	require.Equal(t, &status{2}, inner.Status, "STATUS_CODE_ERROR")
	require.Nil(t, outer.Status)
	require.Len(t, outer.Start, 19, "nanoseconds")
	require.LessOrEqual(t, outer.Start, inner.Start)
	attributes := map[string]value{}
	for _, a := range outer.Attributes {
		attributes[a.Key] = a.Value
	}
	require.Equal(t, e.hide("accounts"), *attributes[tracing.Database].String)
	require.Equal(t, "1152921504606846976", *attributes["http.response.status_code"].Int)
	require.LessOrEqual(t, len(*attributes["http.route"].String), 257)
}

// TestSampling: a part of the traces is recorded, those of clients among them, and none that the
// client does not record; the ratio is asked each time.
func TestSampling(t *testing.T) {
	ratio := 0.25
	var mu sync.Mutex
	e := open(t, func(http.ResponseWriter, *http.Request) {}, func(o *Options) {
		o.Ratio = func() float64 { mu.Lock(); defer mu.Unlock(); return ratio }
	})
	recorded := func(flags string) (n int) {
		for i := range 1000 {
			header := make(http.Header)
			if flags != "" {
				id := e.hide(string(rune(i)))
				header.Set("Traceparent", "00-"+id+id+"-b7ad6b7169203331-"+flags)
			}
			ctx, span := e.Tracer().Request(t.Context(), header)
			if span.Recorded() {
				n++
			}
			_, child := tracing.Start(ctx, "store read")
			require.Equal(t, span.Recorded(), child.Recorded())
		}
		return n
	}
	for _, flags := range []string{"", "01"} {
		n := recorded(flags)
		require.Greater(t, n, 150, flags)
		require.Less(t, n, 350, flags)
	}
	require.Zero(t, recorded("00"))
	mu.Lock()
	ratio = 0
	mu.Unlock()
	require.Zero(t, recorded("01"))
}

// TestHostileCollectors: whatever a collector does, ends of spans do not wait, no more than Queued
// wait in memory, every span is counted once, and Close comes back.
func TestHostileCollectors(t *testing.T) {
	release := make(chan struct{})
	wait := func(r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	for name, collector := range map[string]http.HandlerFunc{
		"silent":   func(_ http.ResponseWriter, r *http.Request) { wait(r) },
		"broken":   func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"refusing": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"busy": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "99999999999")
			w.WriteHeader(503)
		},
		"redirected": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/", http.StatusTemporaryRedirect)
		},
		"endless": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte(" "), 1<<16)); err != nil {
					return
				}
			}
		},
		"lying": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"partialSuccess":{"rejectedSpans":"9223372036854775807"}}`)
		},
		"babbling": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("[", 1<<16))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var followed bool
			e := open(t, func(w http.ResponseWriter, r *http.Request) {
				followed = followed || r.URL.Path != "/v1/traces"
				_, _ = io.Copy(io.Discard, r.Body)
				collector(w, r)
			}, nil)
			const spans = 2*Queued + batch
			some(t, e, spans) // comes back at once
			require.LessOrEqual(t, len(e.spans), Queued)
			e.stop() // the time of the last words is over
			e.Close()
			some(t, e, Queued+1) // after the end
			got, total := counts(t, e), 0
			for _, n := range got {
				total += n
			}
			require.Equal(t, spans+Queued+1, total+len(e.spans), "%v", got)
			require.Positive(t, got[full])
			require.False(t, followed)
		})
	}
	close(release)
}

// TestRejected: what a collector did not take of a batch is counted, and what it takes later is
// sent again.
func TestRejected(t *testing.T) {
	var mu sync.Mutex
	calls := 0
	e := open(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if calls++; calls == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, `{"partialSuccess":{"rejectedSpans":3,"errorMessage":"no"}}`)
	}, nil)
	some(t, e, batch)
	require.Eventually(t, func() bool { return counts(t, e)[rejected] == 3 }, time.Minute, time.Millisecond)
	require.Equal(t, map[string]int{sent: batch - 3, full: 0, failed: 0, rejected: 3}, counts(t, e))
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"http://c:4318": "http://c:4318/v1/traces", "https://c/": "https://c/v1/traces", "http://c/x?y": "http://c/x?y",
		"c:4318": "", "ftp://c": "", "http://": "", "http://[": "",
	} {
		u, err := ParseEndpoint(text)
		if want == "" {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, u.String())
	}
	require.Equal(t, http.Header{"A": {"b=c"}, "D": {"e,f"}}, ParseHeaders(" a=b=c , d = e%2Cf,g,h=%zz"))
	for text, want := range map[string]float64{"0.5": 0.5, "1": 1, "7": 1, "-1": 0, "NaN": 1, "x": 1, "": 1} {
		require.Equal(t, want, ParseRatio(text), text)
	}
}
