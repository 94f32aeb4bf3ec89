package mango

import (
	"testing"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
)

func parsed(t testing.TB, text string) ejson.Value {
	t.Helper()
	v, err := ejson.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestStoredFilters: the filter of a partial index is stored in its normal form, in which a
// condition on an element itself has the name "", and read again.
func TestStoredFilters(t *testing.T) {
	for _, text := range []string{
		`{"a":{"$elemMatch":{"$gt":1}}}`, `{"a":{"$allMatch":{"$or":[{"$gt":1},{"$eq":0}]}}}`,
		`{"a":{"$keyMapMatch":{"$in":["k"]}}}`, `{"a":{"$elemMatch":{"$not":{"$elemMatch":{"$eq":1}}}}}`,
	} {
		s, err := selector.ParseSelector(parsed(t, text))
		if err != nil {
			t.Fatal(err)
		}
		normal := s.AppendJSON(nil)
		if _, err := selector.ParseSelector(parsed(t, string(normal))); err == nil {
			t.Errorf("%s is taken from clients", normal)
		}
		stored := `{"fields":{"b":"asc"},"partial_filter_selector":` + string(normal) + `}`
		m, err := newMapper([]byte(stored))
		if err != nil {
			t.Fatalf("%s: %v", stored, err)
		}
		if got := m.filter.AppendJSON(nil); string(got) != string(normal) {
			t.Errorf("%s is read as %s", normal, got)
		}
	}
}
