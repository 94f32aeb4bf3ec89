package patterns

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestPrograms shows how large the programs of patterns are said to be, and what is answered to those
// that are not compiled: testdata/programs, with a pattern on each line. `-rewrite` writes down what it
// is now.
func TestPrograms(t *testing.T) {
	datadriven.RunTest(t, "testdata/programs", func(_ *testing.T, d *datadriven.TestData) string {
		shown := new(strings.Builder)
		for line := range strings.SplitSeq(d.Input, "\n") {
			tree, err := Parse(line)
			if err != nil {
				fmt.Fprintf(shown, "%s → %v\n", line, err)
				continue
			}
			fmt.Fprintf(shown, "%s → %d instructions", line, Instructions(tree))
			if _, err := new(Budget).Of(tree); err != nil {
				fmt.Fprintf(shown, ", %v", err)
			}
			fmt.Fprintln(shown)
		}
		return shown.String()
	})
}
