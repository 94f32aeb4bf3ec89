package storage

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestMetrics(t *testing.T) {
	db := newTestDB(t, CreateOptions{})
	put(t, db, "a", "", "{}")
	l, err := db.Feed().Listen(t.Context())
	must(t, err)
	defer l.Close()
	must(t, db.Compact(t.Context()))
	r := prometheus.NewRegistry()
	r.MustRegister(db.store)
	families, err := r.Gather()
	must(t, err)
	got := map[string]float64{}
	for _, f := range families {
		m := f.Metric[0]
		got[f.GetName()] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(
			m.GetHistogram().GetSampleCount(),
		)
	}
	for name, least := range map[string]float64{"settee_write_seconds": 1, "settee_feeds_listening": 1, "settee_databases_watched": 1, "settee_database_compactions_total": 1} {
		if got[name] < least {
			t.Errorf("%s is %v", name, got[name])
		}
	}
}
