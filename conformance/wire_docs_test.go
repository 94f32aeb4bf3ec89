package conformance

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// W9: _bulk_get takes an empty list; latest=true gives the newest leaf for a superseded revision; a
// missing revision is an error row (couchbackup probes with the empty list; PouchDB always sends
// revs=true&latest=true and gives up _bulk_get for the whole host after one failure).
func TestW09_BulkGet(t *testing.T) {
	c := newClient(t)
	db := c.newDatabase("")
	if r := c.want(http.StatusOK, c.do("POST", "/"+db+"/_bulk_get", `{"docs":[]}`)); strings.Join(
		strings.Fields(r.Body),
		"",
	) != `{"results":[]}` {
		t.Errorf("empty list: %q", r.Body)
	}
	first := c.put(db, "doc", `{"v":1}`)
	second := c.put(db, "doc", fmt.Sprintf(`{"_rev":%q,"v":2}`, first))
	missing := "1-" + strings.Repeat("0", 32)
	body := fmt.Sprintf(
		`{"docs":[{"id":"doc","rev":%q},{"id":"doc","rev":%q},{"id":"none","rev":%q}]}`,
		first,
		missing,
		missing,
	)
	var got struct {
		Results []struct {
			ID   string
			Docs []struct {
				OK *struct {
					Rev       string `json:"_rev"`
					V         int
					Revisions struct {
						Start int
						IDs   []string
					} `json:"_revisions"`
				}
				Error *struct{ ID, Rev, Error, Reason string }
			}
		}
	}
	c.decode(
		c.want(http.StatusOK, c.do("POST", "/"+db+"/_bulk_get?revs=true&latest=true&attachments=true", body)),
		&got,
	)
	if len(got.Results) != 3 || len(got.Results[0].Docs) != 1 {
		t.Fatalf("%+v", got)
	}
	if ok := got.Results[0].Docs[0].OK; ok == nil || ok.Rev != second || ok.V != 2 || ok.Revisions.Start != 2 ||
		len(ok.Revisions.IDs) != 2 {
		t.Errorf("latest of a superseded revision: %+v", ok)
	}
	for i, id := range []string{"doc", "none"} {
		e := got.Results[1+i].Docs[0].Error
		if e == nil || e.ID != id || e.Rev != missing || e.Error != "not_found" || e.Reason != "missing" {
			t.Errorf("missing revision of %s: %+v", id, e)
		}
	}
}

// W10: _bulk_docs with new_edits=false answers 201 and an empty list when all was stored
// (couchbackup's restore throws otherwise, PouchDB counts the rows as errors).
func TestW10_BulkDocsReplicated(t *testing.T) {
	c := newClient(t)
	db := c.newDatabase("")
	body := `{"new_edits":false,"docs":[
		{"_id":"a","_rev":"2-b","_revisions":{"start":2,"ids":["b","a"]},"v":2},
		{"_id":"a","_rev":"2-c","_revisions":{"start":2,"ids":["c","a"]},"v":3},
		{"_id":"b","_rev":"1-x","_deleted":true}]}`
	for range 2 { // also when the revisions are there already
		r := c.want(http.StatusCreated, c.do("POST", "/"+db+"/_bulk_docs", body))
		if r.Body != "[]\n" {
			t.Errorf("%q", r.Body)
		}
	}
	if r := c.do("GET", "/"+db+"/a?conflicts=true", ""); r.Body != `{"_id":"a","_rev":"2-c","v":3,"_conflicts":["2-b"]}`+"\n" {
		t.Errorf("stored: %s", r.Body)
	}
}

// W11: reasons of 404 to the byte, 412 for an existing database (Budibase creates its database only
// on "Database does not exist.", PouchDB swallows the 412).
func TestW11_Reasons(t *testing.T) {
	c := newClient(t)
	db := c.newDatabase("")
	rev := c.put(db, "gone", `{}`)
	c.want(http.StatusOK, c.do("DELETE", "/"+db+"/gone?rev="+rev, ""))
	for path, want := range map[string]string{
		"/" + db + "/none":       `{"error":"not_found","reason":"missing"}`,
		"/" + db + "/gone":       `{"error":"not_found","reason":"deleted"}`,
		"/" + db + "-none":       `{"error":"not_found","reason":"Database does not exist."}`,
		"/" + db + "-none/doc":   `{"error":"not_found","reason":"Database does not exist."}`,
		"/" + db + "/_local/x":   `{"error":"not_found","reason":"missing"}`,
		"/" + db + "/_design/no": `{"error":"not_found","reason":"missing"}`,
	} {
		if r := c.want(http.StatusNotFound, c.do("GET", path, "")); r.Body != want+"\n" {
			t.Errorf("GET %s: %s", path, r.Body)
		}
	}
	r := c.want(http.StatusPreconditionFailed, c.do("PUT", "/"+db, ""))
	if !strings.Contains(r.Body, `"error":"file_exists"`) {
		t.Errorf("PUT of an existing database: %s", r.Body)
	}
}

// W13: the ETag of a document is its quoted revision, for GET and HEAD and multipart answers
// (Fabric fails without). An answer 304 has the length 0, and the connection goes on after it.
func TestW13_DocumentETag(t *testing.T) {
	c := newClient(t)
	db := c.newDatabase("")
	rev := c.put(db, "doc", `{"_attachments":{"a.bin":{"content_type":"application/octet-stream","data":"AAEC"}}}`)
	want := `"` + rev + `"`
	for _, method := range []string{"GET", "HEAD"} {
		for _, accept := range []string{"application/json", "multipart/related"} {
			r := c.want(http.StatusOK, c.do(method, "/"+db+"/doc?attachments=true", "", "Accept", accept))
			if got := r.Header.Get("ETag"); got != want {
				t.Errorf("%s with Accept %s: ETag %q", method, accept, got)
			}
		}
	}
	for _, method := range []string{"GET", "HEAD"} {
		r := c.want(http.StatusNotModified, c.do(method, "/"+db+"/doc", "", "If-None-Match", want))
		if length := r.Header.Values("Content-Length"); !slices.Equal(length, []string{"0"}) {
			t.Errorf("%s, 304: Content-Length %q", method, length)
		}
	}
}

// W14: Accept: multipart/related is never refused: without attachments, and everywhere else, the
// answer is JSON; with them it is multipart/related with named parts (Fabric sends that Accept with
// every GET).
func TestW14_AcceptMultipart(t *testing.T) {
	c := newClient(t)
	db := c.newDatabase("")
	c.put(db, "plain", `{"a":1}`)
	text := strings.Repeat("compress me ", 100)
	r := c.do("PUT", "/"+db+"/doc/notes.txt", text, "Content-Type", "text/plain")
	c.want(http.StatusCreated, r)
	var saved struct{ Rev string }
	c.decode(r, &saved)
	c.want(
		http.StatusCreated,
		c.do("PUT", "/"+db+"/doc/data.bin?rev="+saved.Rev, "\x00\x01\x02", "Content-Type", "application/octet-stream"),
	)

	for _, path := range []string{"/", "/_all_dbs", "/_up", "/" + db, "/" + db + "/plain?attachments=true", "/" + db + "/_all_docs", "/" + db + "/doc"} {
		r := c.want(http.StatusOK, c.do("GET", path, "", "Accept", "multipart/related"))
		if got := r.Header.Get("Content-Type"); got != "application/json" {
			t.Errorf("GET %s: Content-Type %q", path, got)
		}
	}
	r = c.want(http.StatusOK, c.do("GET", "/"+db+"/doc?attachments=true", "", "Accept", "multipart/related"))
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/related" {
		t.Fatalf("Content-Type %q: %v", r.Header.Get("Content-Type"), err)
	}
	parts := multipart.NewReader(strings.NewReader(r.Body), params["boundary"])
	document, err := parts.NextRawPart()
	if err != nil || document.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("first part: %v %v", document, err)
	}
	got := map[string]string{}
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var data io.Reader = part
		if part.Header.Get("Content-Encoding") == "gzip" {
			if data, err = gzip.NewReader(part); err != nil {
				t.Fatal(err)
			}
		}
		content, err := io.ReadAll(data)
		if err != nil {
			t.Fatal(err)
		}
		disposition, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		if err != nil || disposition != "attachment" {
			t.Errorf("Content-Disposition %q", part.Header.Get("Content-Disposition"))
		}
		got[params["filename"]+" "+part.Header.Get("Content-Type")+" "+part.Header.Get("Content-Encoding")] = string(
			content,
		)
	}
	if len(got) != 2 || got["notes.txt text/plain gzip"] != text ||
		got["data.bin application/octet-stream "] != "\x00\x01\x02" {
		t.Errorf("parts %q", got)
	}
}

// W15: request bodies may be gzipped; _all_docs takes its options from a POST body (the Cloudant
// SDKs gzip every body, RxDB posts keys and include_docs).
func TestW15_GzippedBodiesAndPostedOptions(t *testing.T) {
	c := newClient(t)
	db := c.newDatabase("")
	zip := func(s string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(s)) // a bytes.Buffer takes everything
		w.Close()
		return b.String()
	}
	post := func(status int, method, path, body string) reply {
		t.Helper()
		return c.want(status, c.do(method, "/"+db+path, zip(body), "Content-Encoding", "gzip"))
	}
	post(http.StatusCreated, "PUT", "/doc", `{"v":1}`)
	post(http.StatusCreated, "POST", "", `{"_id":"posted"}`)
	post(http.StatusCreated, "POST", "/_bulk_docs", `{"docs":[{"_id":"a","v":"A"},{"_id":"b"}]}`)
	post(http.StatusOK, "POST", "/_bulk_get", `{"docs":[{"id":"a"}]}`)
	post(http.StatusOK, "POST", "/_revs_diff", `{"a":["1-x"]}`)
	post(http.StatusOK, "POST", "/_changes", `{}`)
	var list struct {
		Rows []struct {
			ID  string
			Doc struct{ V string }
		}
	}
	c.decode(post(http.StatusOK, "POST", "/_all_docs", `{"keys":["b","a"],"include_docs":true}`), &list)
	if len(list.Rows) != 2 || list.Rows[0].ID != "b" || list.Rows[1].Doc.V != "A" {
		t.Errorf("%+v", list)
	}
	c.decode(c.do("POST", "/"+db+"/_all_docs", `{"startkey":"a","limit":1,"skip":1,"include_docs":false}`), &list)
	if len(list.Rows) != 1 || list.Rows[0].ID != "b" {
		t.Errorf("%+v", list)
	}
}

// W19: _local ids with odd characters, with and without a trailing question mark; their revisions
// are 0-N (PouchDB's checkpoints).
func TestW19_LocalDocuments(t *testing.T) {
	c := newClient(t)
	db := c.newDatabase("")
	for i, id := range []string{"KEWkXY0b2mVE1Rb..O6IEQ%3D%3D", "a.b_c-d~e", "%C3%A4%20%2B%2F%3D%3F%23"} {
		path := "/" + db + "/_local/" + id
		mark := []string{"", "?"}[i%2]
		c.want(http.StatusNotFound, c.do("GET", path+mark, ""))
		r := c.want(http.StatusCreated, c.do("PUT", path+mark, `{"last_seq":"1-a","history":[]}`))
		if !strings.Contains(r.Body, `"rev":"0-1"`) {
			t.Errorf("PUT %s: %s", id, r.Body)
		}
		r = c.want(http.StatusCreated, c.do("PUT", path, `{"_rev":"0-1","last_seq":"2-b"}`))
		if !strings.Contains(r.Body, `"rev":"0-2"`) {
			t.Errorf("second PUT %s: %s", id, r.Body)
		}
		name, err := url.PathUnescape(id)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			ID      string `json:"_id"`
			Rev     string `json:"_rev"`
			LastSeq string `json:"last_seq"`
		}
		c.decode(c.want(http.StatusOK, c.do("GET", path+"?", "")), &doc)
		if doc.ID != "_local/"+name || doc.Rev != "0-2" || doc.LastSeq != "2-b" {
			t.Errorf("GET %s: %+v", id, doc)
		}
	}
	if feed := c.changes(db, ""); len(feed.Results) != 0 {
		t.Errorf("local documents show in the feed: %+v", feed.Results)
	}
}
