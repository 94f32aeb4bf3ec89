package js

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/settee-db/settee/compat"
)

// metrics count the calls of a pool.
type metrics struct {
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	counts  [commandCount + 1]atomic.Int64
	nanos   [commandCount + 1]atomic.Int64
}

var (
	workersDesc = prometheus.NewDesc("settee_js_workers", "worker processes of JavaScript that live", []string{"state"},
		nil)
	startedDesc = prometheus.NewDesc("settee_js_workers_started_total", "worker processes started", nil, nil)
	killedDesc  = prometheus.NewDesc("settee_js_workers_killed_total",
		"worker processes killed for time or memory, or that crashed", nil, nil)
)

func newMetrics() metrics {
	return metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "settee_js_calls_total", Help: "calls of worker processes: batches of documents, not single documents",
		}, []string{"command", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "settee_js_call_seconds", Help: "time of calls, that of waiting for a worker included", Buckets: prometheus.ExponentialBuckets(0.0005, 4, 9),
		}, []string{"command"}),
	}
}

// commandNames are the labels of commands.
var commandNames = map[command]string{
	commandCheck: "check", commandMap: "map", commandReduce: "reduce", commandDesign: "design", commandFilter: "filter",
	commandValidate: "validate", commandList: "list", commandEvents: "events", commandCheckEvents: "check_events",
}

// end counts a call.
func (m *metrics) end(c command, took time.Duration, err error) {
	name := commandNames[c]
	m.counts[c].Add(1)
	m.nanos[c].Add(int64(took))
	m.seconds.WithLabelValues(name).Observe(took.Seconds())
	m.calls.WithLabelValues(name, outcome(err)).Inc()
}

// perCommand are the numbers of Stats.
func (m *metrics) perCommand() map[string]Calls {
	calls := make(map[string]Calls, len(commandNames))
	for c, name := range commandNames {
		calls[name] = Calls{m.counts[c].Load(), time.Duration(m.nanos[c].Load())}
	}
	return calls
}

// outcome names what became of a call: ok; failed, when the function did; timeout, memory and
// crash, when the worker was killed, the last one also when the system ended it, twice; cancelled.
func outcome(err error) string {
	var known *compat.Error
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "cancelled"
	case errors.Is(err, errTimedOut):
		return "timeout"
	case errors.Is(err, errEnded):
		return "crash"
	case !errors.As(err, &known):
		return "failed"
	case strings.HasPrefix(known.Reason, OutOfMemory):
		return "memory"
	case strings.HasPrefix(known.Reason, crashed):
		return "crash"
	}
	return "failed"
}

// Describe implements prometheus.Collector.
func (p *Pool) Describe(out chan<- *prometheus.Desc) {
	p.metrics.calls.Describe(out)
	p.metrics.seconds.Describe(out)
	out <- workersDesc
	out <- startedDesc
	out <- killedDesc
}

// Collect implements prometheus.Collector.
func (p *Pool) Collect(out chan<- prometheus.Metric) {
	p.metrics.calls.Collect(out)
	p.metrics.seconds.Collect(out)
	s := p.Stats()
	out <- prometheus.MustNewConstMetric(workersDesc, prometheus.GaugeValue, float64(s.Idle), "idle")
	out <- prometheus.MustNewConstMetric(workersDesc, prometheus.GaugeValue, float64(s.Running-s.Idle), "busy")
	out <- prometheus.MustNewConstMetric(startedDesc, prometheus.CounterValue, float64(s.Started))
	out <- prometheus.MustNewConstMetric(killedDesc, prometheus.CounterValue, float64(s.Killed))
}
