package pebblekv

import (
	"fmt"
	"slices"
	"testing"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// TestPrefixFilters: whether a document is there is not looked up in the tables of others,
// whichever way it is read.
func TestPrefixFilters(t *testing.T) {
	s, err := Open(t.TempDir(), Options{Log: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	doc := func(n int) []byte {
		return tuple.AppendString(tuple.AppendInt(tuple.AppendInt(nil, 40), 5), fmt.Sprintf("%05d", n))
	}
	for table := range 3 {
		mustUpdate(t, s, func(tx kv.Tx) error {
			for n := range 1000 {
				tx.Set(tuple.AppendInt(doc(2*n), int64(table)), []byte("value"))
			}
			return nil
		})
		if err := s.db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range [...]kv.RangeOptions{{}, {Limit: 1}, {Reverse: true, Limit: 1}} {
		passed := s.db.Metrics().Filter.Hits
		for n := range 100 {
			err := s.View(t.Context(), func(tx kv.ReadTx) error {
				begin := doc(2*n + 1)
				it := tx.Range(begin, append(slices.Clip(begin), 0xff), o)
				defer it.Close()
				if it.Next() {
					t.Errorf("%x", it.Key())
				}
				return it.Err()
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if hits := s.db.Metrics().Filter.Hits - passed; hits < 95 {
			t.Errorf("%+v: %d tables passed over", o, hits)
		}
	}
}
