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

func checkedAllDocs(t testing.TB, query, body string) (*ViewOptions, error) {
	o, err := ParseAllDocs(compat.ParseQuery(query), mustParse(t, body))
	if err == nil {
		_, err = o.List(Limits{})
	}
	return o, err
}

// Messages recorded from CouchDB 3.5.0.
func TestAllDocsErrors(t *testing.T) {
	const (
		boolean      = "query_parse_error Invalid boolean parameter: "
		integer      = "query_parse_error Invalid value for integer: "
		positive     = "query_parse_error Invalid value for positive integer: "
		incompatible = "query_parse_error `keys` is incompatible with `key`, `start_key` and `end_key`"
		grouping     = "query_parse_error Invalid use of grouping on a map view."
		bodyKeys     = "bad_request `keys` body member must be an array."
		queryKeys    = "bad_request `keys` parameter must be an array."
		json         = "bad_request invalid UTF-8 JSON"
	)
	for _, test := range []struct{ query, body, want string }{
		{"limit=-1", "", positive + `"-1"`},
		{"limit=x", "", integer + `"x"`},
		{"limit=", "", integer + "[]"},
		{"limit", "", integer + "[]"},
		{"skip=1.5", "", integer + `"1.5"`},
		{"group_level=x", "", integer + `"x"`},
		{"limit=99999999999999999999", "", "query_parse_error Limit is too large, must not exceed 576460752303423487"},
		{"", `{"limit":-1}`, positive + "-1"},
		{"", `{"limit":"2"}`, integer + `<<"2">>`},
		{"", `{"skip":1.5}`, integer + "1.5"},
		{"", `{"skip":true}`, integer + "true"},
		{"descending=maybe", "", boolean + `"maybe"`},
		{"descending=", "", boolean + "[]"},
		{"inclusive_end=1", "", boolean + `"1"`},
		{"sorted=x", "", boolean + `"x"`},
		{"conflicts=maybe", "", boolean + `"maybe"`},
		{"", `{"descending":"x"}`, boolean + `"x"`},
		{"", `{"descending":1}`, boolean + "1"},
		{"", `{"descending":null}`, boolean + "null"},
		{"stale=x", "", "query_parse_error Invalid value for `stale`."},
		{"stable=TRUE", "", "query_parse_error Invalid value for `stable`."},
		{"update=x", "", "query_parse_error Invalid value for `update`."},
		{"", `{"stale":true}`, "query_parse_error Invalid value for `stale`."},
		{"key=a", "", json},
		{"key=", "", json},
		{"endkey=\"a", "", json},
		{"limit=x&key=a", "", integer + `"x"`},
		{"key=a&limit=x", "", json},
		{"keys=x&limit=x", "", json},
		{"keys=", "", json},
		{`limit=x&keys="a"`, "", queryKeys},
		{"keys=null", "", queryKeys},
		{"", `{"keys":null}`, bodyKeys},
		{"", `{"limit":"x","keys":{}}`, bodyKeys},
		{"", "[]", "bad_request Request body must be a JSON object"},
		{`key="1"`, `{"keys":["b","a"]}`, incompatible},
		{"", `{"keys":["b","a"],"key":"1"}`, incompatible},
		{`keys=["a","b"]&key="a"`, "", incompatible},
		{`keys=["a","b"]&startkey="a"`, "", incompatible},
		{`keys=["a"]&key="b"`, "", incompatible},
		{`keys=["a"]&startkey="b"`, "", incompatible},
		{`key="b"&keys=["a"]`, "", ""},
		{`keys=["a"]&key="a"`, "", ""},
		{`keys=[]&key="a"`, "", ""},
		{"keys=[1]&key=1.0", "", incompatible},
		{"reduce=true", "", "query_parse_error Reduce is invalid for map-only views."},
		{"group=true", "", grouping},
		{"group_level=1", "", grouping},
		{"group=false&group_level=2", "", "query_parse_error Can't specify group=false and group_level>0 at the same time"},
		{"reduce=false&group=false&stale=ok&stable=true&update=lazy&sorted=false", "", ""},
		{"partition=p", "", "query_parse_error `partition` parameter is not supported on this db"},
		{"partition=", "", "illegal_partition Partition must not be empty"},
		{"partition=_p", "", "illegal_partition Partition must not start with an underscore"},
		{"Limit=x&unknown=1&=2", "", ""},
	} {
		_, err := checkedAllDocs(t, test.query, test.body)
		if got := message(err); got != test.want {
			t.Errorf("%s %s: got %q, want %q", test.query, test.body, got, test.want)
		}
	}
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

func TestAllDocsOptions(t *testing.T) {
	for _, test := range []struct{ query, body, want string }{
		{"", "", ""},
		{"", "{}", ""},
		{`startkey="a"&end_key={"b":1}&limit=%2B1&skip=01`, "", `start="a" end={"b":1} limit=1 skip=1`},
		{`key="a"&startkey="b"`, "", `start="b" end="a"`},
		{"limit=1&limit=2;descending=TRUE;descending=False", "", "limit=2"},
		{`startkey_docid="x"&endkey_docid=`, "", `startid="x" endid=`},
		{`start_key_doc_id=x&start_key_docid=y`, "", "startid=x"},
		{"include_docs=true&attachments=true&attachments=false&att_encoding_info=true&conflicts=false&update_seq=true", "", "docs attachments encoding conflicts=1 update_seq"},
		{"stale=ok", "", "stable update=1"},
		{"stale=update_after&update=true", "", "stable"},
		{"skip=99999999999999999999&inclusive_end=false", "", "skip=9223372036854775807 exclusive"},
		{`keys=["a","b"]`, "", `keys=["a","b"]`},
		{`keys=["a"]`, "", `start="a" end="a" keys=["a"]`},
		{"", `{"keys":["a"],"limit":2}`, `start="a" end="a" keys=["a"] limit=2`},
		{`keys=["c","d"]&limit=5`, `{"keys":["a","b"],"limit":2,"skip":1}`, `keys=["c","d"] limit=5 skip=1`},
		{"", `{"descending":"true","update":false,"stable":true,"startkey_docid":7,"update_seq":true}`, "startid=7 descending update_seq stable update=1"},
		{"", `{"startkey":null,"end_key":1.0}`, "start=null end=1.0"},
	} {
		o, err := checkedAllDocs(t, test.query, test.body)
		if err != nil {
			t.Errorf("%s %s: %v", test.query, test.body, err)
		} else if got := show(o); got != test.want {
			t.Errorf("%s %s: got %q, want %q", test.query, test.body, got, test.want)
		}
	}
}

func TestViewOptions(t *testing.T) {
	const (
		incompatible = "query_parse_error `keys` is incompatible with `key`, `start_key` and `end_key`"
		multiKey     = "query_parse_error Multi-key fetches for reduce views must use `group=true`"
		notStrings   = "query_parse_error `keys` must be an array of strings."
	)
	for _, test := range []struct {
		reduces              bool
		query, body, options string
		err                  string
	}{
		{false, "keys=[1]", "", "start=1 end=1", ""},
		{false, "", `{"keys":[1]}`, "start=1 end=1", ""},
		{false, "keys=[1]&startkey=0", "", "start=0 end=1", ""},
		{false, "keys=[1,3]", "", "keys=[1,3]", ""},
		{false, "keys=[1,3]&key=1", "", "", incompatible},
		{false, "keys=[1]", `{"keys":[1,3]}`, "", incompatible},
		{false, "keys=1", "", "", notStrings},
		{false, "keys=null", "", "", notStrings},
		{false, "", `{"keys":null}`, "", "bad_request `keys` member must be an array."},
		{false, "", `{"queries":[{}]}`, "", "bad_request The `queries` parameter is no longer supported at this endpoint"},
		{false, "reduce=false&group=true", "", "", "query_parse_error Invalid use of grouping on a map view."},
		{false, "limit=9223372036854775807&reduce=true", "", "", "query_parse_error Limit is too large, must not exceed 576460752303423487"},
		{false, "partition=p", "", "", "query_parse_error `partition` parameter is not supported in this design doc"},
		{true, "group=true", "", "group=-1", ""},
		{true, "group=true&group_level=2", "", "group=2", ""},
		{true, "group_level=0&group=true", "", "", ""},
		{true, "group=false&group_level=0", "", "", ""},
		{true, "keys=[3,1]", "", "", multiKey},
		{true, "keys=[]", "", "", multiKey},
		{true, "keys=[3,1]&group_level=1", "", "", multiKey},
		{true, "keys=[3,1]&group=true", "", "keys=[3,1] group=-1", ""},
		{true, "keys=[3]", "", "start=3 end=3", ""},
		{true, "include_docs=true", "", "", "query_parse_error `include_docs` is invalid for reduce"},
		{true, "conflicts=false", "", "", "query_parse_error `conflicts` is invalid for reduce views."},
	} {
		o, err := ParseView(compat.ParseQuery(test.query), mustParse(t, test.body))
		if err == nil {
			err = o.CheckView(test.reduces, Limits{})
		}
		if got := message(err); got != test.err {
			t.Errorf("%s %s: error %q, want %q", test.query, test.body, got, test.err)
		} else if err == nil && show(o) != test.options {
			t.Errorf("%s %s: got %q, want %q", test.query, test.body, show(o), test.options)
		}
	}
}

func TestViewLimits(t *testing.T) {
	for _, test := range []struct {
		query  string
		limits Limits
		limit  int64
		err    string
	}{
		{"", Limits{QueryLimit: 10, PartitionQueryLimit: 5}, 10, ""},
		{"limit=10", Limits{QueryLimit: 10}, 10, ""},
		{"limit=11", Limits{QueryLimit: 10}, 0, "query_parse_error Limit is too large, must not exceed 10"},
		{"partition=p", Limits{Partitioned: true, QueryLimit: 10, PartitionQueryLimit: 5}, 5, ""},
		{"partition=p&limit=6", Limits{Partitioned: true, PartitionQueryLimit: 5}, 0, "query_parse_error Limit is too large, must not exceed 5"},
	} {
		check := map[string]func(*ViewOptions) error{
			"all docs": func(o *ViewOptions) error { _, err := o.List(test.limits); return err },
			"view":     func(o *ViewOptions) error { return o.CheckView(false, test.limits) },
		}
		for name, check := range check {
			o, err := ParseViewDefaults(compat.ParseQuery(test.query))
			if err == nil {
				err = check(o)
			}
			if got := message(err); got != test.err || (err == nil && o.Limit != test.limit) {
				t.Errorf("%s, %s: got %q, limit %d", name, test.query, got, o.Limit)
			}
		}
	}
	o, err := ParseViewDefaults(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := message(o.CheckView(false, Limits{Partitioned: true})); got != "query_parse_error `partition` parameter is mandatory for queries to this view." {
		t.Error(got)
	}
}

func TestQueries(t *testing.T) {
	for body, want := range map[string]string{
		`{}`:               "bad_request POST body must include `queries` parameter.",
		`{"queries":null}`: "bad_request `queries` member must be an array.",
		`[]`:               "bad_request Request body must be a JSON object",
		`{"queries":[]}`:   "",
	} {
		if _, err := Queries(mustParse(t, body)); message(err) != want {
			t.Errorf("%s: %v", body, err)
		}
	}
	base, err := ParseViewDefaults(compat.ParseQuery("limit=5&group=true&keys=[1,2]&skip=1"))
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		`{}`:                               "limit=5 skip=1",
		`{"keys":["a"],"limit":2}`:         `start="a" end="a" limit=2 skip=1`,
		`{"keys":["a","b"],"skip":0}`:      `keys=["a","b"] limit=5`,
		`{"group_level":1,"reduce":false}`: "limit=5 skip=1 reduce=1",
	} {
		o, err := base.ForQuery(mustParse(t, query))
		if err != nil || show(o) != want {
			t.Errorf("%s: got %q, %v", query, show(o), err)
		}
	}
	if _, err := base.ForQuery(mustParse(t, "1")); message(err) == "" {
		t.Error("a query that is no object is accepted")
	}
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
