package conformance

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/go-kivik/kivik/v4"
	"github.com/go-kivik/kivik/v4/couchdb"
)

// The tests named TestKivik drive the server through the kivik client, as Go programs do, and
// verify what it hands out.

// kivikClient returns a client with the administrator's rights.
func kivikClient(t *testing.T, options ...kivik.Option) *kivik.Client {
	t.Helper()
	options = append(options, couchdb.BasicAuth(AdminName, AdminPassword))
	client, err := kivik.New("couch", "http://"+sharedAddr(t)+"/", options...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// kivikDB returns a fresh database.
func kivikDB(t *testing.T, options ...kivik.Option) *kivik.DB {
	t.Helper()
	client := kivikClient(t)
	name := databaseName(t)
	if err := client.CreateDB(t.Context(), name, options...); err != nil {
		t.Fatal(err)
	}
	db := client.DB(name)
	t.Cleanup(func() {
		req, err := http.NewRequest(http.MethodDelete, "http://"+sharedAddr(t)+"/"+name, nil)
		if err != nil {
			t.Error(err)
			return
		}
		req.SetBasicAuth(AdminName, AdminPassword)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
		}
	})
	return db
}

// body is a document as these tests write and read it.
type body map[string]any

// must fails the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantStatus fails the test unless err carries the HTTP status.
func wantStatus(t *testing.T, status int, err error) {
	t.Helper()
	if err == nil || kivik.HTTPStatus(err) != status {
		t.Fatalf("error %v (status %d) instead of status %d", err, kivik.HTTPStatus(err), status)
	}
}

// wantJSON fails the test unless got is the JSON value want.
func wantJSON(t *testing.T, want string, got any) {
	t.Helper()
	text, err := json.Marshal(got)
	must(t, err)
	if !sameJSON([]byte(want), text, false) {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func put(t *testing.T, db *kivik.DB, id string, doc any) string {
	t.Helper()
	rev, err := db.Put(t.Context(), id, doc)
	must(t, err)
	return rev
}

func get(t *testing.T, db *kivik.DB, id string, options ...kivik.Option) body {
	t.Helper()
	var doc body
	must(t, db.Get(t.Context(), id, options...).ScanDoc(&doc))
	return doc
}

// row is a row of a result set with what it was asked for.
type row struct {
	ID    string
	Value json.RawMessage
	Doc   json.RawMessage
}

// rows drains the result set.
func rows(t *testing.T, rs *kivik.ResultSet, withDocs bool) []row {
	t.Helper()
	defer rs.Close()
	var all []row
	for rs.Next() {
		id, err := rs.ID()
		must(t, err)
		r := row{ID: id}
		must(t, rs.ScanValue(&r.Value))
		if withDocs {
			must(t, rs.ScanDoc(&r.Doc))
		}
		all = append(all, r)
	}
	must(t, rs.Err())
	return all
}

func ids(all []row) []string {
	list := []string{}
	for _, r := range all {
		list = append(list, r.ID)
	}
	return list
}
