package conformance

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/go-kivik/kivik/v4"
	"github.com/go-kivik/kivik/v4/couchdb/chttp"
)

// plainClient returns kivik's HTTP client, by which a program sends what kivik has no call for.
func plainClient(t *testing.T) func(method, path string, body, answer any) error {
	t.Helper()
	client, err := chttp.New(http.DefaultClient, "http://"+AdminName+":"+AdminPassword+"@"+sharedAddr(t)+"/",
		kivik.Params(nil))
	must(t, err)
	return func(method, path string, body, answer any) error {
		o := &chttp.Options{}
		if body != nil {
			o.GetBody = chttp.BodyEncoder(body)
		}
		return client.DoJSON(t.Context(), method, path, o, answer)
	}
}

// TestKivikParts: parts of documents, several at once, sums and older revisions through kivik, which
// has no calls for them, beside its own calls. A CouchDB writes nothing.
func TestKivikParts(t *testing.T) {
	db, ctx := kivikDB(t), t.Context()
	plain, at := plainClient(t), "/"+db.Name()
	first := put(t, db, "doc", body{"n": 1, "o": body{"p": 2, "q": 3}, "text": "long"})
	increment := []any{body{"op": "increment", "path": "/n", "value": 1}}

	both := kivik.Params(map[string]any{"atomic": true, "all_or_nothing": true})
	var server struct{ Settee map[string]int }
	must(t, plain("GET", "/", nil, &server))
	if server.Settee == nil { // a CouchDB
		wantStatus(t, http.StatusMethodNotAllowed, plain("PATCH", at+"/doc", increment, nil))
		_, err := db.BulkDocs(ctx, []any{body{"_id": "x"}}, both)
		wantStatus(t, http.StatusExpectationFailed, err)
		return
	}
	for _, name := range []string{"patch", "fields", "pointer", "atomic", "aggregate", "restore"} {
		if server.Settee[name] == 0 {
			t.Error(name, "is not among", server.Settee)
		}
	}

	// What a patch has made is a revision as any other to kivik.
	var patched struct{ Rev string }
	must(t, plain("PATCH", at+"/doc", body{"o": body{"q": nil}, "text": nil}, &patched))
	must(t, plain("PATCH", at+"/doc", increment, &patched))
	wantJSON(t, `{"_id":"doc","_rev":"`+patched.Rev+`","n":2,"o":{"p":2}}`, get(t, db, "doc"))
	wantStatus(t, http.StatusConflict, plain("PATCH", at+"/doc?rev="+first, increment, nil))
	test := []any{body{"op": "test", "path": "/n", "value": 1}}
	wantStatus(t, http.StatusConflict, plain("PATCH", at+"/doc", test, nil))
	part := get(t, db, "doc", kivik.Param("fields", `["o"]`))
	wantJSON(t, `{"_id":"doc","_rev":"`+patched.Rev+`","o":{"p":2}}`, part)
	var value int
	must(t, plain("GET", at+"/doc?pointer=/o/p", nil, &value))
	if value != 2 {
		t.Error(value)
	}
	rev := put(t, db, "doc", body{"_rev": patched.Rev, "n": 7, "group": "a"})

	// Its own call for several documents takes patches, and all or none of them.
	docs := []any{body{"_id": "a", "n": 5, "group": "b"}, body{"_id": "doc", "_patch": increment}}
	results, err := db.BulkDocs(ctx, docs, both)
	must(t, err)
	if len(results) != 2 || results[0].Error != nil || results[1].Error != nil || results[1].Rev == rev {
		t.Error(results)
	}
	_, err = db.BulkDocs(ctx, []any{body{"_id": "b"}, body{"_id": "a"}}, both)
	wantStatus(t, http.StatusConflict, err)
	wantStatus(t, http.StatusNotFound, db.Get(ctx, "b").Err())
	check := kivik.Params(map[string]any{
		"atomic": true, "all_or_nothing": true, "check": []any{body{"id": "a", "absent": true}},
	})
	_, err = db.BulkDocs(ctx, []any{body{"_id": "b"}}, check)
	wantStatus(t, http.StatusPreconditionFailed, err)
	all := rows(t, db.AllDocs(ctx, kivik.IncludeDocs(), kivik.Param("fields", `["n"]`)), true)
	if len(all) != 2 {
		t.Fatal(all)
	}
	wantJSON(t, `{"_id":"doc","_rev":"`+results[1].Rev+`","n":8}`, all[1].Doc)

	// Sums, beside a query.
	var sums struct{ Groups []json.RawMessage }
	must(t, plain("POST", at+"/_aggregate", body{
		"group_by": []string{"group"}, "values": body{"s": body{"$sum": "n"}},
	}, &sums))
	wantJSON(t, `[{"key":["a"],"s":8},{"key":["b"],"s":5}]`, sums.Groups)
	if numbers, _ := found(t, db.Find(ctx, body{"selector": body{"n": body{"$gt": 4}}})); numbers != "5 8" {
		t.Error(numbers)
	}

	// A deleted document comes back, and the feed has it once.
	deleted, err := db.Delete(ctx, "a", results[0].Rev)
	must(t, err)
	must(t, plain("POST", at+"/a/_restore?rev="+results[0].Rev, body{}, &patched))
	if back := get(t, db, "a"); back["_rev"] != patched.Rev || patched.Rev == deleted || back["n"] != 5.0 {
		t.Error(back)
	}
	feed := db.Changes(ctx, kivik.Param("group", true))
	defer feed.Close()
	seen := map[string]int{}
	for feed.Next() {
		seen[feed.ID()]++
	}
	must(t, feed.Err())
	if len(seen) != 2 || seen["a"] != 1 || seen["doc"] != 1 {
		t.Error(seen)
	}
}
