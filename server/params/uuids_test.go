package params

import (
	"errors"
	"testing"

	"github.com/settee-db/settee/compat"
)

func TestUUIDCount(t *testing.T) {
	for query, want := range map[string]int64{
		"": 1, "count=0": 0, "count=1000": 1000, "count=%2B1": 1, "count=01": 1, "count=-0": 0, "count=3&count=x": 3, "Count=9": 1,
	} {
		if got, err := UUIDCount(compat.ParseQuery(query), 1000); err != nil || got != want {
			t.Errorf("%q: got %d, %v", query, got, err)
		}
	}
	for query, want := range map[string]string{
		"count=1001":                 "count parameter too large",
		"count=99999999999999999999": "count parameter too large",
		"count=-1":                   "count must be a positive integer",
		"count=":                     "count must be a positive integer",
		"count=1.0":                  "count must be a positive integer",
		"count=x&count=1":            "count must be a positive integer",
	} {
		_, err := UUIDCount(compat.ParseQuery(query), 1000)
		if !errors.Is(err, compat.NewError(compat.KindBadRequest, want)) {
			t.Errorf("%q: got %v", query, err)
		}
	}
}
