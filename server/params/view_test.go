package params

import (
	"fmt"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/views/viewquery"
)

func mustParse(t testing.TB, text string) ejson.Value {
	t.Helper()
	if text == "" {
		return ejson.Value{}
	}
	v, err := ejson.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// message is what the client sees: the error word and the reason, or "" for none.
func message(err error) string {
	if err == nil {
		return ""
	}
	e, ok := compat.AsError(err)
	if !ok {
		return "not an Error: " + err.Error()
	}
	return e.Word() + " " + e.Reason
}

// show prints the options that differ from the defaults.
func show(o *ViewOptions) string {
	var s []string
	add := func(show bool, format string, args ...any) {
		if show {
			s = append(s, fmt.Sprintf(format, args...))
		}
	}
	for _, key := range []struct {
		name string
		v    ejson.Value
	}{{"start", o.StartKey}, {"end", o.EndKey}, {"keys", o.Keys}} {
		add(key.v.Kind() != ejson.Invalid, "%s=%s", key.name, key.v.AppendJSON(nil))
	}
	add(o.StartDocID != nil, "startid=%s", deref(o.StartDocID))
	add(o.EndDocID != nil, "endid=%s", deref(o.EndDocID))
	add(o.Limit != MaxLimit, "limit=%d", o.Limit)
	add(o.Skip != 0, "skip=%d", o.Skip)
	add(o.Descending, "descending")
	add(o.ExclusiveEnd, "exclusive")
	add(o.IncludeDocs, "docs")
	add(o.Attachments, "attachments")
	add(o.AttEncodingInfo, "encoding")
	add(o.conflicts != unset, "conflicts=%d", o.conflicts)
	add(o.UpdateSeq, "update_seq")
	add(o.Unsorted, "unsorted")
	add(o.reduce != unset, "reduce=%d", o.reduce)
	add(o.stable, "stable")
	add(o.Update != viewquery.UpdateFirst, "update=%d", o.Update)
	add(o.Partition != "", "partition=%s", o.Partition)
	add(o.GroupLevel != 0, "group=%d", o.GroupLevel)
	return strings.Join(s, " ")
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func FuzzViewOptions(f *testing.F) {
	f.Add(`startkey="a"&keys=["a"]&limit=1&group=true`, `{"keys":["a","b"],"partition":"p","update":"lazy"}`)
	f.Add("stale=ok;group_level=-1", `{"limit":[[[{"a":1e5}]]],"descending":[116]}`)
	f.Fuzz(func(t *testing.T, query, body string) {
		q := compat.ParseQuery(query)
		v, err := ejson.Parse([]byte(body))
		if err != nil {
			v = ejson.Value{}
		}
		for _, parse := range []func(compat.Query, ejson.Value) (*ViewOptions, error){ParseAllDocs, ParseView} {
			o, err := parse(q, v)
			if err == nil {
				_, err = o.List(Limits{Partitioned: true})
			}
			if err == nil && (o.Limit < 0 || o.Limit > MaxLimit || o.Skip < 0 || o.GroupLevel != 0) {
				t.Fatalf("%+v", o)
			}
			if err == nil {
				_ = o.CheckView(true, Limits{})
			} else if _, ok := compat.AsError(err); !ok {
				t.Fatalf("not an Error: %v", err)
			}
		}
	})
}

func BenchmarkAllDocsOptions(b *testing.B) {
	q := compat.ParseQuery(`startkey="a"&endkey="b"&include_docs=true&limit=100`)
	b.ReportAllocs()
	for b.Loop() {
		o, err := ParseAllDocs(q, ejson.Value{})
		if err == nil {
			_, err = o.List(Limits{})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
