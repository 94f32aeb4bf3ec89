package pebblekv

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/settee-db/settee/storage/kv"
)

func TestPrometheus(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := s.Update(t.Context(), func(tx kv.Tx) error { tx.Set([]byte("k"), nil); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	r := prometheus.NewRegistry()
	r.MustRegister(s)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range families {
		seen[f.GetName()] = true
		if f.GetName() == "settee_commit_group_transactions" {
			h := f.Metric[0].GetHistogram()
			if h.GetSampleSum() != 3 || h.Bucket[1].GetUpperBound() != 1 ||
				h.Bucket[1].GetCumulativeCount() != h.GetSampleCount() {
				t.Errorf("%v", h)
			}
		}
	}
	if len(seen) != len(measures)+2 || !seen["settee_commit_sync_seconds"] {
		t.Errorf("%v", seen)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if families, err = r.Gather(); err != nil || len(families) != 0 {
		t.Errorf("closed: %v %v", families, err)
	}
}
