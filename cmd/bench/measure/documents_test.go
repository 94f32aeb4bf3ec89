package measure

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestDocumentsAreJSONOfTheirSize(t *testing.T) {
	docs := newDocuments()
	for n := range int64(poolSize) {
		if body := docs.body(n); len(body) != documentSize || !json.Valid(body) {
			t.Fatalf("document %d has %d bytes: %s", n, len(body), body)
		}
	}
	if !bytes.Equal(docs.body(5), newDocuments().body(5)) || bytes.Equal(docs.body(5), docs.body(6)) {
		t.Error("documents must differ from each other and be the same in each run")
	}
}

func TestBulkBody(t *testing.T) {
	var parsed struct {
		Docs []struct {
			ID    string `json:"_id"`
			Total float64
		}
	}
	if err := json.Unmarshal(newDocuments().appendBulk(nil, 9, 3), &parsed); err != nil {
		t.Fatal(err)
	}
	if len(parsed.Docs) != 3 || parsed.Docs[0].ID != string(appendID(nil, 9)) ||
		parsed.Docs[2].ID != string(appendID(nil, 11)) {
		t.Errorf("got %+v", parsed)
	}
}

func TestIDsSortAsTheirNumbers(t *testing.T) {
	last := ""
	for _, n := range []int64{0, 1, 9, 10, 11, 99, 100, 123456, 999_999_999, 1_000_000_000} {
		id := string(appendID(nil, n))
		if id <= last || last != "" && len(id) != len(last) {
			t.Errorf("%q after %q", id, last)
		}
		last = id
	}
}

func TestRevisionIn(t *testing.T) {
	if rev, err := revisionIn([]byte(`{"_id":"a","_rev":"1-abc","x":1}`)); err != nil || string(rev) != "1-abc" {
		t.Errorf("%q, %v", rev, err)
	}
	if rev, err := revisionIn([]byte(`{"_id":"a"}`)); err == nil {
		t.Errorf("%q", rev)
	}
}
