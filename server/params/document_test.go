package params

import (
	"reflect"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
)

func TestDocOptions(t *testing.T) {
	a, b := compat.Rev{Pos: 1, Hash: "a"}, compat.Rev{Pos: 2, Hash: "b"}
	for query, want := range map[string]documents.ReadOptions{
		"":                {},
		"rev=1-a&rev=2-b": {Rev: b, HasRev: true},
		"attachments=true&attachments=false&revs=TRUE&unknown=1": {Attachments: true},
		"meta=true":                           {RevsInfo: true, Conflicts: true, DeletedConflicts: true},
		"open_revs=all":                       {OpenRevsAll: true},
		`open_revs=["1-a","2-b"]&latest=true`: {OpenRevs: []compat.Rev{a, b}, Latest: true},
		`open_revs=all&open_revs=[]`:          {OpenRevs: []compat.Rev{}},
		`atts_since=["1-a"]`:                  {AttsSince: []compat.Rev{a}, HasAttsSince: true, Attachments: true},
		`atts_since=[]`:                       {AttsSince: []compat.Rev{}, HasAttsSince: true, Attachments: true},
		"revs=true&revs_info=true&conflicts=true&deleted=true&deleted_conflicts=true&local_seq=true&att_encoding_info=true": {
			Revs: true, RevsInfo: true, Conflicts: true, Deleted: true, DeletedConflicts: true, LocalSeq: true,
			AttEncodingInfo: true,
		},
	} {
		if got, err := ReadDocument(compat.ParseQuery(query)); err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: got %+v, %v", query, got, err)
		}
	}
	for query, want := range map[string]bool{"new_edits=false&new_edits=x": true, "new_edits=false&new_edits=true": false} {
		if got, err := WriteDocument(compat.ParseQuery(query)); err != nil || got != want {
			t.Errorf("%s: got %v, %v", query, got, err)
		}
	}
	for query, want := range map[string]string{
		"rev=x&rev=1-a":       "bad_request Invalid rev format",
		"rev=":                "bad_request Invalid rev format",
		"open_revs=x":         "bad_request invalid UTF-8 JSON",
		"open_revs=":          "bad_request invalid UTF-8 JSON",
		`open_revs="1-a"`:     "bad_request Invalid list of revisions",
		"open_revs=[1]":       "bad_request Invalid rev format",
		`atts_since=["x"]`:    "bad_request Invalid rev format",
		"atts_since={}":       "bad_request Invalid list of revisions",
		"atts_since={}&rev=x": "bad_request Invalid list of revisions",
	} {
		if _, err := parseDocument(compat.ParseQuery(query)); message(err) != want {
			t.Errorf("%s: got %v", query, err)
		}
	}
}

func TestBulkGetOptions(t *testing.T) {
	o, err := BulkGet(compat.ParseQuery("revs=true&latest=true&attachments=true"))
	if err != nil || !o.Revs || !o.Latest || !o.Attachments {
		t.Errorf("%+v, %v", o, err)
	}
	for _, name := range []string{"rev", "open_revs", "new_edits", "w", "atts_since"} {
		_, err := BulkGet(compat.ParseQuery("revs=true&" + name + "=1-a"))
		if message(err) != `bad_request "`+name+`" query parameter is not acceptable` {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRequestRev(t *testing.T) {
	const (
		fromQuery = "bad_request Document rev from request body and query string have different values"
		fromEtag  = "bad_request Document rev and etag have different values"
		invalid   = "bad_request Invalid rev format"
	)
	for _, test := range []struct{ body, query, ifMatch, want, err string }{
		{"", "", absent, "", ""},
		{"", "rev=1-a&rev=2-b", absent, "1-a", ""},
		{"", "", `"1-a"`, "1-a", ""},
		{"", "", "1-a", "1-a", ""},
		{"", "rev=1-a", `"01-a"`, "1-a", ""},
		{"", "rev=1-a", `"2-b"`, "", fromEtag},
		{"", "rev=x", `"2-b"`, "", invalid},
		{"", "", "*", "", invalid},
		{"", "", `W/"1-a"`, "", invalid},
		{"1-a", "", absent, "1-a", ""},
		{"1-a", "rev=1-a", "1-a", "1-a", ""},
		{"1-a", "rev=2-b", absent, "", fromQuery},
		{"1-a", "rev=2-b", "x", "", fromQuery},
		{"1-a", "", "2-b", "", fromEtag},
		{"1-a", "", "x", "", invalid},
		{"", "", "", "", invalid},
		{"1-a", "", "", "", invalid},
	} {
		d := &compat.Document{}
		if test.body != "" {
			rev, err := compat.ParseRev(test.body)
			if err != nil {
				t.Fatal(err)
			}
			d.Revs = compat.RevPath{Start: rev.Pos, IDs: []string{rev.Hash}}
		}
		err := SetRequestRev(d, compat.ParseQuery(test.query), headerValues(test.ifMatch))
		got := ""
		if len(d.Revs.IDs) > 0 {
			got = d.Rev().String()
		}
		if message(err) != test.err || (err == nil && got != test.want) {
			t.Errorf("%+v: got %q, %v", test, got, err)
		}
	}
}

// absent stands for a header that is not there.
const absent = "(absent)"

func headerValues(text string) []string {
	if text == absent {
		return nil
	}
	return []string{text}
}

func TestQuorumAndBatch(t *testing.T) {
	if n, ok, err := Quorum(compat.ParseQuery("w=2&w=x"), "w"); n != 2 || !ok || err != nil {
		t.Error(n, ok, err)
	}
	if _, ok, err := Quorum(compat.ParseQuery("r=2"), "w"); ok || err != nil {
		t.Error(ok, err)
	}
	if _, _, err := Quorum(compat.ParseQuery("w="), "w"); err != compat.ErrBadArg {
		t.Error(err)
	}
	wants := map[string]bool{"batch=ok": true, "batch=OK": false, "batch=x&batch=ok": false, "": false}
	for query, want := range wants {
		if BatchOK(compat.ParseQuery(query)) != want {
			t.Error(query)
		}
	}
}

func TestDestination(t *testing.T) {
	for header, want := range map[string]string{
		"x":           "x ",
		"a%2Fb+c":     "a/b c ",
		"x?rev=1-a":   "x 1-a",
		"x?any=2-b":   "x 2-b",
		"_design%2Fd": "_design/d ",
		"":            " ",
		"/x":          "/x ",
	} {
		id, rev, err := Destination(headerValues(header), true)
		text := ""
		if !rev.IsZero() {
			text = rev.String()
		}
		if got := id + " " + text; err != nil || got != want {
			t.Errorf("%s: got %q, %v", header, got, err)
		}
	}
	for header, want := range map[string]string{
		absent:        "bad_request Destination header is mandatory for COPY.",
		"x?rev=1-a?":  "bad_request Invalid rev format",
		"x?rev=1-a=":  "bad_request Invalid rev format",
		"http://h/x":  "bad_request Destination URL must be relative.",
		"https://h/x": "bad_request Destination URL must be relative.",
		"x?rev=x":     "bad_request Invalid rev format",
		"x?rev":       "bad_request Invalid rev format",
	} {
		if _, _, err := Destination(headerValues(header), true); message(err) != want {
			t.Errorf("%s: got %v", header, err)
		}
	}
}

func FuzzDocOptions(f *testing.F) {
	f.Add(`rev=1-a&open_revs=["1-a"]&atts_since=[]&new_edits=false`, `"1-a"`, "x?rev=1-b")
	f.Fuzz(func(t *testing.T, query, ifMatch, destination string) {
		q := compat.ParseQuery(query)
		_, err := parseDocument(q)
		_, err2 := BulkGet(q)
		_, _, err3 := RequestRev(q, headerValues(ifMatch))
		_, _, err4 := Destination(headerValues(destination), true)
		_, err5 := compat.ParseRevs(ejson.Value{})
		for _, err := range []error{err, err2, err3, err4, err5} {
			if _, ok := compat.AsError(err); err != nil && !ok {
				t.Fatalf("not an Error: %v", err)
			}
		}
	})
}
