package params

import (
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

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
