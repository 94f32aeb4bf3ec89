package pebblekv

import (
	"bytes"
	"fmt"
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
	if len(seen) != len(measures)+len(volumeMeasures)+2 || !seen["settee_commit_sync_seconds"] {
		t.Errorf("%v", seen)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if families, err = r.Gather(); err != nil || len(families) != 0 {
		t.Errorf("closed: %v %v", families, err)
	}
}

// TestForgetBlocks: the cache of blocks is empty then, and is filled again by what is read.
func TestForgetBlocks(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	key := func(i int) []byte { return fmt.Appendf(nil, "%06d", i) }
	if _, err := s.Update(t.Context(), func(tx kv.Tx) error {
		for i := range 2000 {
			tx.Set(key(i), bytes.Repeat(key(i*7919), 100))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	read := func() {
		if err := s.View(t.Context(), func(tx kv.ReadTx) error {
			for i := range 2000 {
				if value, err := tx.Get(key(i)); err != nil || !bytes.HasPrefix(value, key(i*7919)) {
					t.Fatal(err, i)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		read()
		if full := s.Metrics().BlockCacheBytes; full < 200_000 {
			t.Fatalf("%d bytes after all was read", full)
		}
		s.ForgetBlocks()
		if left := s.Metrics().BlockCacheBytes; left > 20_000 {
			t.Fatalf("%d bytes are left", left)
		}
	}
	read()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.ForgetBlocks()
}
