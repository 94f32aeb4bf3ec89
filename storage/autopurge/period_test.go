package autopurge

import (
	"math/big"
	"regexp"
	"strings"
	"testing"
)

// period is what ParsePeriod reads, as an expression.
var period = regexp.MustCompile(`^\+?([0-9]+)_(s|sec|seconds?|min|minutes?|h|hrs|hours?|d|days?|w|weeks?|mon|months?|y|years?)$`)

// FuzzPeriod holds the parser against an expression and numbers without bounds.
func FuzzPeriod(f *testing.F) {
	for _, seed := range []string{
		"30_days", "1_s", "0_day", "-1_day", "+1_day", "++1_day", "01_day", "1_day_2", "1__day", "_day", "day", "1", "",
		"3_mon", "1_mons", "1_hr", "9999999999_years", strings.Repeat("9", 40) + "_s", "1_Day", "1.5_day", "é_day",
		strings.Repeat("0", 30) + "_w", "infinity", "+_day", " 1_day",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := ParsePeriod(text)
		m := period.FindStringSubmatch(text)
		want := new(big.Int)
		if m != nil {
			want.SetString(m[1], 10)
			each := map[byte]int64{'s': 1, 'h': 3600, 'd': 86400, 'w': 7 * 86400, 'y': 365 * 86400}[m[2][0]]
			switch {
			case strings.HasPrefix(m[2], "min"):
				each = 60
			case strings.HasPrefix(m[2], "mon"):
				each = 30 * 86400
			}
			want.Mul(want, big.NewInt(each))
		}
		if ok != (want.Sign() > 0) {
			t.Fatalf("%q is a period: %t", text, ok)
		}
		if ok && want.Cmp(big.NewInt(longest)) < 0 && want.Int64() != got || got < 0 {
			t.Errorf("%q has %d seconds, want %v", text, got, want)
		}
	})
}
