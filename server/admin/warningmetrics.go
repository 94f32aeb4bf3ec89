package admin

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// warningKinds are the ids that warnings can have. Each has an alert in ops/alerts.yml.
var warningKinds = []string{
	"clocks_apart", "disk_nearly_full", "few_files", "function_paused", "index_failing", "job_paused",
	"memory_full", "no_admin", "replication_crashing", "secret_missing", "setting_without_effect",
}

// warningTime bounds how long a look for warnings may keep whoever reads the metrics.
const warningTime = 3 * time.Second

var (
	warningsDesc = prometheus.NewDesc("settee_warnings",
		"warnings of the overview, of which each is something that needs somebody to act",
		[]string{"id", "severity"}, nil)
	unknownDesc = prometheus.NewDesc("settee_warnings_unknown",
		"checks for warnings that could not be made, so that their warnings are not counted", nil, nil)
)

// warningCollector counts the warnings of the overview by their kinds, so that an alert fires when
// the console shows it. Subjects are left out: they are names of databases and documents, and who
// reads metrics need not be an administrator.
type warningCollector struct{ handlers *Handlers }

// Describe implements prometheus.Collector.
func (w warningCollector) Describe(out chan<- *prometheus.Desc) {
	out <- warningsDesc
	out <- unknownDesc
}

// Collect implements prometheus.Collector. Kinds without a warning are 0: an alert needs a value
// to end. A check that fails counts as unknown instead of as one that has found nothing.
func (w warningCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), warningTime)
	defer cancel()
	now := w.handlers.samples.read()
	type kind struct{ id, severity string }
	counted, unknown := map[kind]float64{}, 0.0
	for _, check := range checks {
		found, err := check(ctx, w.handlers, now)
		if err != nil {
			unknown++
		}
		for _, one := range found[:min(len(found), mostWarnings)] {
			counted[kind{one.ID, one.Severity}]++
		}
	}
	for _, id := range warningKinds {
		for _, severity := range []string{critical, serious} {
			out <- prometheus.MustNewConstMetric(warningsDesc, prometheus.GaugeValue,
				counted[kind{id, severity}], id, severity)
		}
	}
	out <- prometheus.MustNewConstMetric(unknownDesc, prometheus.GaugeValue, unknown)
}
