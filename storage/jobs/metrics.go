package jobs

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count what the queue has run.
type metrics struct {
	running *prometheus.GaugeVec
	ended   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

// newMetrics makes collectors that belong to one queue. The buckets of the histogram reach from a
// millisecond to about an hour: index builds take that long.
func newMetrics() metrics {
	return metrics{
		running: prometheus.NewGaugeVec(
			prometheus.GaugeOpts{Name: "settee_jobs_running", Help: "jobs that this process runs"},
			[]string{"type"},
		),
		ended: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "settee_jobs_ended_total", Help: "runs of jobs that ended"},
			[]string{"type", "outcome"},
		),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "settee_job_seconds", Help: "how long runs of jobs took",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 12),
		}, []string{"type"}),
	}
}

// end counts a run that ended. A job that asked to be forgotten has not failed.
func (m *metrics) end(typ string, took time.Duration, lost bool, err error) {
	m.running.WithLabelValues(typ).Dec()
	m.seconds.WithLabelValues(typ).Observe(took.Seconds())
	outcome := "done"
	switch {
	case lost:
		outcome = "lost"
	case err != nil && !errors.Is(err, ErrForget):
		outcome = "failed"
	}
	m.ended.WithLabelValues(typ, outcome).Inc()
}

// Describe implements prometheus.Collector.
func (q *Queue) Describe(out chan<- *prometheus.Desc) {
	q.metrics.running.Describe(out)
	q.metrics.ended.Describe(out)
	q.metrics.seconds.Describe(out)
}

// Collect implements prometheus.Collector.
func (q *Queue) Collect(out chan<- prometheus.Metric) {
	q.metrics.running.Collect(out)
	q.metrics.ended.Collect(out)
	q.metrics.seconds.Collect(out)
}
