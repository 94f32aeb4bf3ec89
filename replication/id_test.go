package replication

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/settee-db/settee/compat/ejson"
)

// TestDocuments shows what documents of replications say, or why they are refused: testdata/ids,
// documents and urls. Each line of an input is a document, a source or a URL.
func TestDocuments(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			set := DefaultSettings()
			set.NormalizeSelector = func(ejson.Value) ([]byte, error) {
				return []byte(`{"$and":[{"b":{"$eq":1}},{"a":{"$gt":2}}]}`), nil
			}
			d.MaybeScanArgs(t, "uuid", &set.UUID)
			shown := ""
			for line := range strings.SplitSeq(d.Input, "\n") {
				shown += line + " → " + documentCase(t, d, line, &set) + "\n"
			}
			return shown
		})
	})
}

func documentCase(t *testing.T, d *datadriven.TestData, line string, set *Settings) string {
	t.Helper()
	switch d.Cmd {
	case "url":
		u, ok := parseURL(line)
		if !ok {
			return "none"
		}
		return fmt.Sprintf("%s port %d path %s", u.host, u.port, u.path)
	case "endpoint":
		line = `{"source":` + line + `,"target":"http://t/"}`
	}
	doc, err := ejson.Parse([]byte(line))
	if err != nil {
		d.Fatalf(t, "%s: %v", line, err)
	}
	s, err := ParseSpec(doc, set)
	if err != nil {
		return err.Error()
	}
	switch d.Cmd {
	case "id":
		s.SetID(set, "")
		return s.ID.String()
	case "endpoint":
		return fmt.Sprintf("%s user %q password %q", s.Source.URL, s.Source.User, s.Source.Password)
	case "checkpoints":
		return fmt.Sprintf("use_checkpoints %v", s.Options.UseCheckpoints)
	}
	return "taken"
}

// TestTrimFilter: a CouchDB 3.5.0 gave the same replication ids for these and for what they become.
func TestTrimFilter(t *testing.T) {
	for code, want := range map[string]string{
		"": "", "  ": "", "  \n": "\n", " f ": "f", "f \n": "f\n", "\tf\t": "\tf\t", " f\r\n": "f\r\n",
		"\n f": "\n f", "{\n} ": "{\n} ", "f\n\n": "f\n\n", " f\u00a0 ": "f\u00a0",
	} {
		if got := trimFilter(code); got != want {
			t.Errorf("%q gives %q, not %q", code, got, want)
		}
	}
}
