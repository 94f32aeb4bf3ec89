package storage

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/settee-db/settee/storage/kv"
)

// metrics are the numbers of a Store that it counts itself.
type metrics struct {
	writes  prometheus.Histogram
	retries prometheus.Counter
}

var (
	compactionsDesc = prometheus.NewDesc("settee_database_compactions_total", "compactions of databases that ended",
		nil, nil)
	compactingDesc = prometheus.NewDesc("settee_database_compactions_running", "compactions of databases under way",
		nil, nil)
	compactedDesc = prometheus.NewDesc("settee_database_compacted_revisions_total",
		"bodies of replaced revisions removed by compaction", nil, nil)
	listenersDesc = prometheus.NewDesc("settee_feeds_listening", "feeds that wait for updates of a database", nil, nil)
	watchedDesc   = prometheus.NewDesc("settee_databases_watched", "databases with a feed that waits", nil, nil)
)

func newMetrics() metrics {
	return metrics{
		writes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "settee_write_seconds", Help: "time of a transaction on a database from its begin until it is durable, all of its runs",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 18),
		}),
		retries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "settee_write_retries_total", Help: "runs of such transactions beyond the first, after conflicts",
		}),
	}
}

// write runs a transaction and measures it.
func (s *Store) write(ctx context.Context, fn func(kv.Tx) error) error {
	began, runs := time.Now(), 0
	_, err := s.kv.Update(ctx, func(tx kv.Tx) error {
		runs++
		return fn(tx)
	})
	s.metrics.writes.Observe(time.Since(began).Seconds())
	if runs > 1 {
		s.metrics.retries.Add(float64(runs - 1))
	}
	return err
}

// Describe implements prometheus.Collector.
func (s *Store) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, out) }

// Collect implements prometheus.Collector.
func (s *Store) Collect(out chan<- prometheus.Metric) {
	s.metrics.writes.Collect(out)
	s.metrics.retries.Collect(out)
	c := &s.bg.compactions
	out <- prometheus.MustNewConstMetric(compactionsDesc, prometheus.CounterValue, float64(c.Finished()))
	out <- prometheus.MustNewConstMetric(compactingDesc, prometheus.GaugeValue, float64(len(s.Compactions())))
	out <- prometheus.MustNewConstMetric(compactedDesc, prometheus.CounterValue, float64(c.Removed()))
	watched, listening := s.bg.listeners.Count()
	out <- prometheus.MustNewConstMetric(watchedDesc, prometheus.GaugeValue, float64(watched))
	out <- prometheus.MustNewConstMetric(listenersDesc, prometheus.GaugeValue, float64(listening))
}
