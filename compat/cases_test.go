package compat

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/settee-db/settee/compat/ejson"
)

// TestCases shows what texts of clients become: testdata/cases. Each line of an input is a text, in
// quotes of Go where it is empty or has odd bytes. `go test ./compat -run TestCases -rewrite`
// writes down what they become now.
//
//	databases, partitions, attachments     names
//	ids [partitioned] [max=N]              ids of documents, of at most N bytes
//	revs                                   revisions
//	documents [small]                      JSON that is never in quotes; small has bounds that a line exceeds
//	ranges size=N                          headers Range for an attachment of N bytes
//	integers, strings, terms               what Erlang reads as an integer, and how it prints strings and JSON
//	targets, encodings, paths, queries     targets of requests and their parts
//	encoded                                texts as a part of a URL
//	networks                               addresses
func TestCases(t *testing.T) {
	datadriven.Walk(t, "testdata/cases", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			show := showCase[d.Cmd]
			if show == nil {
				d.Fatalf(t, "unknown command")
			}
			shown := ""
			for line := range strings.SplitSeq(d.Input, "\n") {
				text := line
				if d.Cmd != "terms" && d.Cmd != "documents" && strings.HasPrefix(line, `"`) {
					var err error
					if text, err = strconv.Unquote(line); err != nil {
						d.Fatalf(t, "%s: %v", line, err)
					}
				}
				shown += line + " → " + strings.ReplaceAll(show(t, d, text), "\n", `\n`) + "\n"
			}
			return shown
		})
	})
}

// showCase has what TestCases shows of a line, by command.
var showCase = map[string]func(t *testing.T, d *datadriven.TestData, text string) string{
	"databases": func(_ *testing.T, _ *datadriven.TestData, text string) string {
		return orError("a database", ValidateDatabaseName(text))
	},
	"partitions": func(_ *testing.T, _ *datadriven.TestData, text string) string {
		return orError("a partition", ValidatePartition(text))
	},
	"attachments": func(_ *testing.T, _ *datadriven.TestData, text string) string {
		return orError("an attachment", ValidateAttachmentName(text))
	},
	"ids": func(t *testing.T, d *datadriven.TestData, text string) string {
		rules := IDRules{Partitioned: d.HasArg("partitioned")}
		d.MaybeScanArgs(t, "max", &rules.MaxLength)
		return orError("a document", ValidateDocID(text, rules))
	},
	"revs": func(_ *testing.T, _ *datadriven.TestData, text string) string {
		r, err := ParseRev(text)
		return orError(r.String(), err)
	},
	"documents": func(t *testing.T, d *datadriven.TestData, text string) string {
		rules := DocRules{}
		if d.HasArg("small") {
			rules = DocRules{IDs: IDRules{MaxLength: 20}, MaxSize: 100, MaxAttachmentSize: 10, Edits: true}
		}
		doc, err := parseText(t, text, rules)
		if err != nil {
			return err.Error()
		}
		shown := fmt.Sprintf("%s of %d bytes", doc.Body.JSON, doc.Body.Size)
		if (doc.RequireRev() == nil) == (len(doc.Revs.IDs) == 0) {
			t.Errorf("%s: RequireRev = %v", text, doc.RequireRev())
		}
		if len(doc.Revs.IDs) > 0 {
			shown += fmt.Sprintf(", revisions from %d: %s", doc.Revs.Start, strings.Join(doc.Revs.IDs, " "))
		}
		return shown
	},
	"ranges": func(t *testing.T, d *datadriven.TestData, text string) string {
		var size int64
		d.ScanArgs(t, "size", &size)
		ranges, whole, err := ParseRange(text, size)
		switch {
		case errors.Is(err, ErrRange):
			return "none that can be answered"
		case whole:
			return "the whole"
		case err == nil && len(ranges) == 0:
			return "no range"
		}
		shown := ""
		for _, r := range ranges {
			shown += fmt.Sprintf(", bytes %d to %d", r.From, r.To)
		}
		return orError(strings.TrimPrefix(shown, ", "), err)
	},
	"integers": func(_ *testing.T, _ *datadriven.TestData, text string) string {
		n, ok := ErlangInteger(text)
		if !ok {
			return "no integer"
		}
		return strconv.FormatInt(n, 10)
	},
	"strings": func(_ *testing.T, _ *datadriven.TestData, text string) string { return ErlangString(text) },
	"terms": func(t *testing.T, _ *datadriven.TestData, text string) string {
		v, err := ejson.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return ErlangTerm(v)
	},
	"targets": func(_ *testing.T, _ *datadriven.TestData, text string) string {
		path, query := SplitTarget(text)
		return fmt.Sprintf("path %q, query %q", path, query)
	},
	"encodings": func(_ *testing.T, _ *datadriven.TestData, text string) string {
		return orError("well formed", CheckURLEncoding(text))
	},
	"paths": func(_ *testing.T, _ *datadriven.TestData, text string) string {
		return fmt.Sprintf("%q", PathParts(text, true))
	},
	"queries": func(_ *testing.T, _ *datadriven.TestData, text string) string {
		return fmt.Sprintf("%q", ParseQuery(text))
	},
	"encoded": func(_ *testing.T, _ *datadriven.TestData, text string) string { return EncodeURL(text) },
	"networks": func(_ *testing.T, _ *datadriven.TestData, text string) string {
		network, err := ParseNetwork(text)
		if err != nil {
			return "no network"
		}
		return network.String()
	},
}

// orError is a text, or what an error says where there is one.
func orError(text string, err error) string {
	if err != nil {
		return err.Error()
	}
	return text
}
