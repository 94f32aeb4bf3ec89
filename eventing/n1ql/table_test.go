package n1ql

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/settee-db/settee/eventing/n1ql/lex"
)

// TestTableOfN1QL: docs/eventing-queries.md has a table of all of N1QL. The example of a row with "yes"
// is parsed, the one of a row with "no" is refused with its place, and has a reason.
func TestTableOfN1QL(t *testing.T) {
	page, err := os.ReadFile("../../docs/eventing-queries.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| what | here | example |")
	table, _, _ = strings.Cut(table, "\n\n")
	row := regexp.MustCompile("^\\| (.+) \\| (yes|no) \\| `(`?)(.+?)`(`?) \\| (.*) ?\\|$")
	answers := map[string]int{}
	for _, line := range strings.Split(table, "\n")[2:] {
		cells := row.FindStringSubmatch(line)
		if cells == nil || cells[3] != cells[5] {
			t.Errorf("%s is no row", line)
			continue
		}
		answers[cells[2]]++
		_, err := Parse(cells[4])
		var refused *lex.SyntaxError
		switch {
		case cells[2] == "yes" && err != nil:
			t.Errorf("%s: %v", cells[4], err)
		case cells[2] == "no" && (!errors.As(err, &refused) || refused.Index > len(cells[4])):
			t.Errorf("%s is not refused with its place", cells[4])
		case cells[2] == "no" && strings.TrimSpace(cells[6]) == "":
			t.Errorf("%s has no reason", cells[4])
		}
	}
	if answers["yes"] < 30 || answers["no"] < 20 {
		t.Errorf("the table has %v rows", answers)
	}
}
