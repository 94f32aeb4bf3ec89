package autopurge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestPeriods shows for how long settings keep something: testdata/periods, with a setting on each
// line. `-rewrite` writes down what they say now.
func TestPeriods(t *testing.T) {
	datadriven.RunTest(t, "testdata/periods", func(t *testing.T, d *datadriven.TestData) string {
		parse := map[string]func(string) (int64, bool){"periods": ParsePeriod, "histories": ParseHistory}[d.Cmd]
		if parse == nil {
			d.Fatalf(t, "unknown command")
		}
		shown := new(strings.Builder)
		for line := range strings.SplitSeq(d.Input, "\n") {
			if seconds, ok := parse(line); ok {
				fmt.Fprintf(shown, "%s → %d seconds\n", line, seconds)
			} else {
				fmt.Fprintf(shown, "%s → refused\n", line)
			}
		}
		return shown.String()
	})
}
