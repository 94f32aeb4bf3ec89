package principal

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestSettings shows what settings of logins mean: testdata/settings, with a setting on each line.
// `-rewrite` writes down what they mean now.
//
//	policies password=P    password_regexp: what it answers to a password
//	claims                 required_claims: the names with their values, or that every token is refused
func TestSettings(t *testing.T) {
	datadriven.RunTest(t, "testdata/settings", func(t *testing.T, d *datadriven.TestData) string {
		shown := new(strings.Builder)
		for line := range strings.SplitSeq(d.Input, "\n") {
			meaning := ""
			switch d.Cmd {
			case "policies":
				meaning = policyAnswer(t, d, line)
			case "claims":
				meaning = claimsText(ParseClaims(line))
			default:
				d.Fatalf(t, "unknown command")
			}
			fmt.Fprintf(shown, "%s → %s\n", line, meaning)
		}
		return shown.String()
	})
}

func policyAnswer(t *testing.T, d *datadriven.TestData, setting string) string {
	t.Helper()
	var password string
	d.ScanArgs(t, "password", &password)
	p := ParsePolicy(setting)
	if err := p.check(password); err != nil {
		return err.Error()
	}
	return "accepted"
}

func claimsText(c Claims) string {
	if c.broken {
		return "every token is refused"
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(c.names)) {
		all = append(all, fmt.Sprintf("%s=%q", name, c.names[name]))
	}
	return strings.Join(all, " ")
}
