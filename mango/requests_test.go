package mango

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestRequests shows what is said of requests of _find that are refused, each a line: the word and
// the reason that clients see (mango_opts, mango_selector, mango_sort, mango_fields).
func TestRequests(t *testing.T) {
	datadriven.RunTest(t, "testdata/requests", func(t *testing.T, d *datadriven.TestData) string {
		shown := ""
		for line := range strings.SplitSeq(d.Input, "\n") {
			r, err := ParseRequest(parsed(t, line), Defaults{Limit: 25})
			if err == nil {
				_, err = NewPlan(r, fuzzIndexes(t), d.HasArg("partitioned"), false)
			}
			said := "taken"
			if err != nil {
				said = err.Error()
			}
			shown += line + " → " + said + "\n"
		}
		return shown
	})
}
