package locale

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestParseDate shows what texts are as dates: testdata/dates, with a text on each line, in quotes where
// it begins with a blank or is empty. `-rewrite` writes down what they are now.
func TestParseDate(t *testing.T) {
	datadriven.RunTest(t, "testdata/dates", func(t *testing.T, d *datadriven.TestData) string {
		shown := new(strings.Builder)
		for line := range strings.SplitSeq(d.Input, "\n") {
			text, date := line, "no date"
			if strings.HasPrefix(line, `"`) {
				text = strings.Trim(line, `"`)
			}
			if ms := ParseDate(text); !math.IsNaN(ms) {
				date = time.UnixMilli(int64(ms)).UTC().Format("2006-01-02T15:04:05.000")
			}
			fmt.Fprintf(shown, "%s → %s\n", line, date)
		}
		return shown.String()
	})
}

// FuzzParseDate: every text is a date that a Date can have, or none.
func FuzzParseDate(f *testing.F) {
	f.Add("Thu Jan 02 2020 03:04:05.678 GMT-0500 (EST)")
	f.Add("-000001-12-31T24:00:00.000+23:59")
	f.Add("99999999999/99999999999/99999999999 99999999999:99999999999:99999999999 +99999999999")
	f.Fuzz(func(t *testing.T, text string) {
		if ms := ParseDate(text); !math.IsNaN(ms) && math.Abs(ms) > 8.64e15 {
			t.Errorf("%q is %v", text, ms)
		}
	})
}
