package mango

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
)

// Requests with very many conditions, fields or sort fields are read and planned in time that grows
// with their number, not with its square: a million conditions took five minutes.
func TestWideRequests(t *testing.T) {
	if testing.Short() { // under the race detector
		t.Skip("has one goroutine, where the race detector finds nothing; runs without -short")
	}
	const n = 50_000
	list := func(item string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, item, i)
		}
		return b.String()
	}
	definition := &Index{Kind: KindJSON, Columns: []string{"f1", "f2"}}
	for name, text := range map[string]string{
		"conditions": `{"selector":{` + list(`"f%d":1`) + `}}`,
		"$or":        `{"selector":{"$or":[` + list(`{"f%d":{"$gt":1}}`) + `]}}`,
		"fields":     `{"selector":{"f1":1},"fields":[` + list(`"f%d"`) + `]}`,
		"$in":        `{"selector":{"f1":{"$in":[` + list(`%d`) + `]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			body, err := ejson.Parse([]byte(text))
			require.NoError(t, err)
			require.Positive(t, selector.Size(body))
			request, err := ParseRequest(body, Defaults{Limit: 25})
			require.NoError(t, err)
			plan, err := NewPlan(request, []*Index{definition, AllDocs}, false, false)
			require.NoError(t, err)
			picker := pickerOf(plan.req.Selector)
			require.LessOrEqual(t, len(picker.names), maxPicked)
			require.Less(t, time.Since(began), time.Minute) // against a hang
		})
	}
}

// A partial index's selector stays in memory and is asked for every document, so it has a bound.
func TestWideFilters(t *testing.T) {
	define := func(n int) error {
		filter := `{"a":1`
		for i := range n {
			filter += fmt.Sprintf(`,"b%d":{"$gt":1}`, i)
		}
		filter += `}`
		body, err := ejson.Parse([]byte(`{"index":{"fields":["a"],"partial_filter_selector":` + filter + `}}`))
		require.NoError(t, err)
		_, parsed := ParseDefinition(body, false)
		_, mapped := newMapper([]byte(`{"fields":{"a":"asc"},"partial_filter_selector":` + filter + `}`))
		require.Equal(t, parsed, mapped)
		return parsed
	}
	require.NoError(t, define(300))
	require.ErrorIs(t, define(2000), errFilterTooLarge)
}
