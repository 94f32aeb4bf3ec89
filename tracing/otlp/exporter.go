package otlp

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/settee-db/settee/tracing"
)

const (
	// Queued is how many spans may wait.
	Queued = 4096
	batch  = 512             // spans of a request
	pause  = 2 * time.Second // after which those that there are are sent
	// lastWords is the time for what waits when the server stops.
	lastWords = 3 * time.Second
)

// Options are what an exporter needs. Functions are asked again and again.
type Options struct {
	Endpoint *url.URL // that spans are posted to
	Headers  func() http.Header
	Service  string // service.name
	Version  string // service.version
	Instance string // service.instance.id
	Ratio    func() float64
	Names    func() bool // whether names of databases, design documents and functions are shown
	Key      []byte      // of the hashes of names that are not
	Log      *slog.Logger
}

// Exporter sends spans. It is a collector of Prometheus, of what became of them, and safe for
// concurrent use.
type Exporter struct {
	o        Options
	tracer   *tracing.Tracer
	client   *http.Client
	resource []keyValue
	counts   *prometheus.CounterVec

	spans   chan *tracing.Record
	closing chan struct{} // closed by Close
	once    sync.Once
	// ctx ends what is being sent when Close has waited for long enough.
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
	toldAt  time.Time // that the log was told of a failure; of run
}

// What becomes of a span.
const (
	sent     = "sent"
	full     = "queue_full" // it ended while Queued waited
	failed   = "failed"     // the collector did not take the batch
	rejected = "rejected"   // the collector took the batch but for so many
)

// New returns an exporter that runs until Close.
func New(o Options) *Exporter {
	e := &Exporter{
		o: o, client: newClient(),
		spans: make(chan *tracing.Record, Queued), closing: make(chan struct{}),
		counts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "settee_trace_spans_total",
			Help: "Spans of traces by what became of them; all but sent were dropped.",
		}, []string{"outcome"}),
		resource: []keyValue{
			text("service.name", o.Service), text("service.version", o.Version),
			text("service.instance.id", o.Instance),
		},
	}
	for _, outcome := range []string{sent, full, failed, rejected} {
		e.counts.WithLabelValues(outcome)
	}
	e.ctx, e.stop = context.WithCancel(context.Background())
	e.tracer = &tracing.Tracer{Ratio: o.Ratio, Ended: e.ended}
	e.running.Go(e.run)
	return e
}

// Tracer begins traces that are sent.
func (e *Exporter) Tracer() *tracing.Tracer { return e.tracer }

// Describe implements prometheus.Collector.
func (e *Exporter) Describe(c chan<- *prometheus.Desc) { e.counts.Describe(c) }

// Collect implements prometheus.Collector.
func (e *Exporter) Collect(c chan<- prometheus.Metric) { e.counts.Collect(c) }

func (e *Exporter) count(outcome string, spans int) {
	e.counts.WithLabelValues(outcome).Add(float64(spans))
}

// Close sends what waits, for at most lastWords, and ends. Spans that end later are dropped. There
// is nothing to close of nil.
func (e *Exporter) Close() {
	if e == nil {
		return
	}
	e.once.Do(func() { close(e.closing) })
	defer time.AfterFunc(lastWords, e.stop).Stop()
	e.running.Wait()
	e.stop()
	e.client.CloseIdleConnections()
}

// ParseRatio reads a part between 0 and 1; what is no number is 1.
func ParseRatio(text string) float64 {
	ratio, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(ratio) {
		return 1
	}
	return max(0, min(ratio, 1))
}

// ended queues a span, or drops it.
func (e *Exporter) ended(s *tracing.Record) {
	select {
	case e.spans <- s:
	default:
		e.count(full, 1)
	}
}

// run sends batches until Close.
func (e *Exporter) run() {
	for closing := false; !closing; {
		var list []*tracing.Record
		list, closing = e.gather()
		for len(list) > 0 {
			e.send(list)
			list = nil
			if closing {
				list = e.waiting(nil)
			}
		}
	}
}

// gather waits for spans until they are a batch or the first one has waited for the pause.
func (e *Exporter) gather() (list []*tracing.Record, closing bool) {
	select {
	case s := <-e.spans:
		list = append(list, s)
	case <-e.closing:
		return e.waiting(nil), true
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for len(list) < batch {
		select {
		case s := <-e.spans:
			list = append(list, s)
		case <-timer.C:
			return list, false
		case <-e.closing:
			return e.waiting(list), true
		}
	}
	return list, false
}

// waiting adds to a batch what waits already.
func (e *Exporter) waiting(list []*tracing.Record) []*tracing.Record {
	for len(list) < batch {
		select {
		case s := <-e.spans:
			list = append(list, s)
		default:
			return list
		}
	}
	return list
}

// hide is what a name of a user becomes: the same one for the same name and key, and no way back.
func (e *Exporter) hide(name string) string {
	h := hmac.New(sha256.New, e.o.Key)
	h.Write([]byte(name))
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// ParseHeaders reads a list as OTEL_EXPORTER_OTLP_HEADERS has it: name=value, separated by commas,
// values percent-encoded where they have commas. What is no such pair is left out.
func ParseHeaders(list string) http.Header {
	h := make(http.Header)
	for pair := range strings.SplitSeq(list, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if decoded, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil {
			h.Set(strings.TrimSpace(name), decoded)
		}
	}
	return h
}

// ParseEndpoint reads the URL of a collector; without a path its /v1/traces is meant. Only http and
// https are schemes.
func ParseEndpoint(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, &url.Error{Op: "parse", URL: u.Redacted(), Err: errEndpoint}
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	return u, nil
}
