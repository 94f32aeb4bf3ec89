package functions

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestFunctionsAreDocumented: docs/eventing-queries.md names each function by one of its names, and
// no others.
func TestFunctionsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/eventing-queries.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| functions |")
	table, _, _ = strings.Cut(table, "\n\n")
	named := map[*Function]bool{}
	for _, name := range regexp.MustCompile("`[A-Z0-9_]+`").FindAllString(table, -1) {
		f := builtins[strings.Trim(name, "`")]
		if f == nil {
			t.Errorf("%s is no function", name)
		}
		named[f] = true
	}
	for name, f := range builtins {
		if !named[f] {
			t.Errorf("%s is not documented", name)
		}
	}
	for name := range aggregates {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("%s is not documented", name)
		}
	}
}
