package params

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
)

// TestCases shows what options of requests become, or what is said of those that are refused:
// testdata/cases. Each line of an input is a request: its query or header, and after a space what
// else it has, mostly a body. A - stands for nothing, (absent) for a header that is not there.
// Reasons of errors were recorded from CouchDB 3.5.0. `go test ./server/params -run TestCases
// -rewrite` writes down what they become now.
//
//	alldocs, view [reduces]                 options of lists and views; they may have
//	                                        query_limit=N, partition_limit=N, partitioned
//	queries, query                          the list of a …/queries endpoint; one of its queries (the body)
//	changes [main], wait                    options of _changes; how long its answer waits, at most a minute
//	filter, dbupdates                       filters of _changes; options of _db_updates
//	document, write, bulkget                options of documents
//	revision                                query, If-Match and the revision in the body
//	destination, takes type=T, login, gzip  headers
//	uuids                                   how many UUIDs, of at most 1000
func TestCases(t *testing.T) {
	datadriven.Walk(t, "testdata/cases", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			become := cases[d.Cmd]
			if become == nil {
				d.Fatalf(t, "unknown command")
			}
			shown := ""
			for line := range strings.SplitSeq(d.Input, "\n") {
				got, err := become(t, d, line)
				if err != nil {
					got = message(err)
				}
				shown += strings.TrimRight(line+" → "+got, " ") + "\n"
			}
			return shown
		})
	})
}

// parts are the query of a line and what stands after it.
func parts(t *testing.T, line string) (q compat.Query, body ejson.Value) {
	t.Helper()
	query, rest, _ := strings.Cut(line, " ")
	return compat.ParseQuery(some(query)), mustParse(t, rest)
}

func some(text string) string {
	if text == "-" {
		return ""
	}
	return text
}

// limits are those of a command.
func limits(t *testing.T, d *datadriven.TestData) (l Limits) {
	t.Helper()
	d.MaybeScanArgs(t, "query_limit", &l.QueryLimit)
	d.MaybeScanArgs(t, "partition_limit", &l.PartitionQueryLimit)
	l.Partitioned = d.HasArg("partitioned")
	return l
}

// cases has what a line becomes, by command.
var cases = map[string]func(t *testing.T, d *datadriven.TestData, line string) (string, error){
	"alldocs": func(t *testing.T, d *datadriven.TestData, line string) (string, error) {
		o, err := ParseAllDocs(parts(t, line))
		if err == nil {
			_, err = o.List(limits(t, d))
		}
		if err != nil {
			return "", err
		}
		return show(o), nil
	},
	"view": func(t *testing.T, d *datadriven.TestData, line string) (string, error) {
		o, err := ParseView(parts(t, line))
		if err == nil {
			err = o.CheckView(d.HasArg("reduces"), limits(t, d))
		}
		if err != nil {
			return "", err
		}
		return show(o), nil
	},
	"queries": func(t *testing.T, _ *datadriven.TestData, line string) (string, error) {
		list, err := Queries(mustParse(t, line))
		return string(list.AppendJSON(nil)), err
	},
	"query": func(t *testing.T, d *datadriven.TestData, line string) (string, error) {
		q, body := parts(t, line)
		base, err := ParseViewDefaults(q)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		o, err := base.ForQuery(body)
		if err != nil {
			return "", err
		}
		return show(o), nil
	},
	"changes": func(t *testing.T, d *datadriven.TestData, line string) (string, error) {
		query, lastEvent, _ := strings.Cut(line, " ")
		o, err := ParseChanges(compat.ParseQuery(some(query)), lastEvent, d.HasArg("main"))
		if err == nil {
			_, err = o.CheckFeed()
		}
		return differences(&ChangesOptions{}, o), err
	},
	"wait": func(t *testing.T, _ *datadriven.TestData, line string) (string, error) {
		q, _ := parts(t, line)
		o, err := ParseChanges(q, "", false)
		if err != nil {
			return "", err
		}
		most, heartbeat := o.Wait(time.Minute)
		return fmt.Sprintf("%v heartbeat=%v", most, heartbeat), nil
	},
	"filter": func(t *testing.T, d *datadriven.TestData, line string) (string, error) {
		q, body := parts(t, line)
		o, err := ParseChanges(q, "", false)
		if err != nil {
			return "", err
		}
		err = o.ReadFilter(q, d.HasArg("post") || body.Kind() != ejson.Invalid, body, true)
		f := o.Filter
		shown := ""
		if f.Selector != nil {
			f.Selector, shown = nil, " and a selector"
		}
		return differences(&documents.Filter{}, &f) + shown, err
	},
	"dbupdates": func(t *testing.T, _ *datadriven.TestData, line string) (string, error) {
		q, _ := parts(t, line)
		o, err := ParseDBUpdates(q)
		if err == nil {
			_, err = o.CheckFeed()
		}
		return differences(&DBUpdatesOptions{}, o), err
	},
	"document": func(t *testing.T, _ *datadriven.TestData, line string) (string, error) {
		q, _ := parts(t, line)
		o, err := ReadDocument(q)
		return differences(&documents.ReadOptions{}, o), err
	},
	"write": func(t *testing.T, _ *datadriven.TestData, line string) (string, error) {
		q, _ := parts(t, line)
		replicated, err := WriteDocument(q)
		return fmt.Sprint(replicated), err
	},
	"bulkget": func(t *testing.T, _ *datadriven.TestData, line string) (string, error) {
		q, _ := parts(t, line)
		o, err := BulkGet(q)
		return differences(&documents.ReadOptions{}, o), err
	},
	"revision": func(t *testing.T, d *datadriven.TestData, line string) (string, error) {
		var query, ifMatch, body string
		if _, err := fmt.Sscan(line, &query, &ifMatch, &body); err != nil {
			d.Fatalf(t, "%s: %v", line, err)
		}
		doc := &compat.Document{}
		if body != "-" {
			rev, err := compat.ParseRev(body)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			doc.Revs = compat.RevPath{Start: rev.Pos, IDs: []string{rev.Hash}}
		}
		if err := SetRequestRev(doc, compat.ParseQuery(some(query)), headerValues(ifMatch)); err != nil {
			return "", err
		}
		if len(doc.Revs.IDs) == 0 {
			return "none", nil
		}
		return doc.Rev().String(), nil
	},
	"destination": func(_ *testing.T, _ *datadriven.TestData, line string) (string, error) {
		id, rev, err := Destination(headerValues(line), true)
		if err != nil || rev.IsZero() {
			return id, err
		}
		return id + " at " + rev.String(), nil
	},
	"takes": func(t *testing.T, d *datadriven.TestData, line string) (string, error) {
		var mediaType string
		d.ScanArgs(t, "type", &mediaType)
		return fmt.Sprint(ParseAccept(some(line), line != absent).Takes(mediaType)), nil
	},
	"login": func(_ *testing.T, _ *datadriven.TestData, line string) (string, error) {
		a := ParseAccept(line, true)
		multipart, _ := a.BulkGetMultipart()
		return fmt.Sprintf("_bulk_get in %q, login page %v", multipart, a.WantsLoginPage()), nil
	},
	"gzip": func(_ *testing.T, _ *datadriven.TestData, line string) (string, error) {
		takes, err := AcceptsGzip(some(line))
		return fmt.Sprint(takes), err
	},
	"uuids": func(t *testing.T, _ *datadriven.TestData, line string) (string, error) {
		q, _ := parts(t, line)
		n, err := UUIDCount(q, 1000)
		return fmt.Sprint(n), err
	},
}

// differences are the members of a structure that have another value than in from, those of embedded
// structures as well.
func differences[T any](from, of *T) string {
	if of == nil {
		return ""
	}
	var list []string
	var compare func(a, b reflect.Value)
	compare = func(a, b reflect.Value) {
		for i := range b.NumField() {
			field, x, y := b.Type().Field(i), a.Field(i), b.Field(i)
			if field.Anonymous {
				compare(x, y)
			} else if fmt.Sprintf("%#v", x) != fmt.Sprintf("%#v", y) {
				list = append(list, fmt.Sprintf("%s=%v", field.Name, y))
			}
		}
	}
	compare(reflect.ValueOf(from).Elem(), reflect.ValueOf(of).Elem())
	return strings.Join(list, " ")
}

// absent stands for a header that is not there.
const absent = "(absent)"

func headerValues(text string) []string {
	if text == absent {
		return nil
	}
	return []string{some(text)}
}
