package conformance

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-kivik/kivik/v4"
	"github.com/go-kivik/kivik/v4/couchdb"
)

func TestKivikChanges(t *testing.T) {
	db, ctx := kivikDB(t, kivik.Param("q", 1)), t.Context()
	put(t, db, "a", body{"v": 1})
	rev := put(t, db, "b", body{"v": 2})
	_, err := db.Delete(ctx, "b", rev)
	must(t, err)

	feed := db.Changes(ctx, kivik.IncludeDocs())
	var got []string
	for feed.Next() {
		var doc body
		must(t, feed.ScanDoc(&doc))
		got = append(got, fmt.Sprintf("%s %d %t %v", feed.ID(), len(feed.Changes()), feed.Deleted(), doc["v"]))
		if feed.Seq() == "" || doc["_rev"] != feed.Changes()[0] {
			t.Errorf("row %s: seq %q, document %v", feed.ID(), feed.Seq(), doc)
		}
	}
	must(t, feed.Err())
	wantJSON(t, `["a 1 false 1","b 1 true <nil>"]`, got)
	meta, err := feed.Metadata()
	must(t, err)
	if meta.LastSeq == "" || meta.Pending != 0 {
		t.Errorf("metadata %+v", meta)
	}

	put(t, db, "c", body{})
	feed = db.Changes(ctx, kivik.Param("since", meta.LastSeq))
	got = nil
	for feed.Next() {
		got = append(got, feed.ID())
	}
	must(t, feed.Err())
	wantJSON(t, `["c"]`, got)

	feed = db.Changes(ctx, kivik.Param("filter", "_doc_ids"), kivik.Param("doc_ids", []string{"a", "c"}))
	got = nil
	for feed.Next() {
		got = append(got, feed.ID())
	}
	must(t, feed.Err())
	wantJSON(t, `["a","c"]`, got)
}

func TestKivikContinuousChanges(t *testing.T) {
	db := kivikDB(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	put(t, db, "before", body{})
	feed := db.Changes(
		ctx,
		kivik.Param("feed", "continuous"),
		kivik.Param("since", "now"),
		kivik.Param("heartbeat", 500),
	)
	defer feed.Close()
	const writes = 50
	failed := make(chan error, 1)
	go func() {
		for i := range writes {
			time.Sleep(5 * time.Millisecond)
			if _, err := db.Put(ctx, fmt.Sprintf("doc-%02d", i), body{"i": i}); err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	seen := map[string]bool{}
	for len(seen) < writes && feed.Next() {
		if seen[feed.ID()] || feed.ID() == "before" {
			t.Errorf("%s came twice or should not come", feed.ID())
		}
		seen[feed.ID()] = true
	}
	must(t, feed.Err())
	must(t, <-failed)
	if len(seen) != writes {
		t.Errorf("%d of %d writes came", len(seen), writes)
	}
}

func attachment(name, contentType string, content []byte) *kivik.Attachment {
	return &kivik.Attachment{
		Filename: name, ContentType: contentType, Size: int64(len(content)),
		Content: io.NopCloser(bytes.NewReader(content)),
	}
}

func readAttachment(t *testing.T, db *kivik.DB, id, name string, options ...kivik.Option) (*kivik.Attachment, []byte) {
	t.Helper()
	att, err := db.GetAttachment(t.Context(), id, name, options...)
	must(t, err)
	defer att.Content.Close()
	content, err := io.ReadAll(att.Content)
	must(t, err)
	return att, content
}

func TestKivikAttachments(t *testing.T) {
	// kivik gzips bodies unless it is told not to; the server would store that as an attachment
	// compressed by its sender
	db, ctx := kivikClient(t, couchdb.OptionNoRequestCompression()).DB(kivikDB(t).Name()), t.Context()
	text := []byte(strings.Repeat("all work and no play ", 500))
	binary := make([]byte, 300_000)
	for i := range binary {
		binary[i] = byte(i * i >> 3)
	}
	first, err := db.PutAttachment(ctx, "doc", attachment("notes.txt", "text/plain", text))
	must(t, err)
	second, err := db.PutAttachment(
		ctx,
		"doc",
		attachment("data.bin", "application/octet-stream", binary),
		kivik.Rev(first),
	)
	must(t, err)
	_, err = db.PutAttachment(ctx, "doc", attachment("x", "text/plain", text), kivik.Rev(first))
	wantStatus(t, http.StatusConflict, err)

	att, content := readAttachment(t, db, "doc", "notes.txt")
	if att.ContentType != "text/plain" || !bytes.Equal(content, text) || att.Digest == "" {
		t.Errorf("notes.txt: %s, %d bytes, digest %q", att.ContentType, len(content), att.Digest)
	}
	att, content = readAttachment(t, db, "doc", "data.bin")
	if att.ContentType != "application/octet-stream" || !bytes.Equal(content, binary) {
		t.Errorf("data.bin: %s, %d bytes", att.ContentType, len(content))
	}
	meta, err := db.GetAttachmentMeta(ctx, "doc", "data.bin")
	must(t, err)
	if meta.Size != int64(len(binary)) || meta.Digest != att.Digest || meta.ContentType != att.ContentType {
		t.Errorf("meta %+v", meta)
	}

	stubs := get(t, db, "doc")["_attachments"].(map[string]any)
	if stub := stubs["notes.txt"].(map[string]any); stub["stub"] != true || stub["revpos"] != 1.0 ||
		stub["length"] != float64(len(text)) {
		t.Errorf("stub %v", stub)
	}
	third, err := db.DeleteAttachment(ctx, "doc", second, "notes.txt")
	must(t, err)
	_, err = db.GetAttachment(ctx, "doc", "notes.txt")
	wantStatus(t, http.StatusNotFound, err)
	if got := get(t, db, "doc"); got["_rev"] != third || len(got["_attachments"].(map[string]any)) != 1 {
		t.Errorf("after the deletion: %v", got)
	}
	_, content = readAttachment(t, db, "doc", "notes.txt", kivik.Rev(second))
	if !bytes.Equal(content, text) {
		t.Error("the old revision lost its attachment")
	}
}

// A document with attachments goes both ways as multipart/related.
func TestKivikMultipart(t *testing.T) {
	db, ctx := kivikDB(t), t.Context()
	contents := map[string][]byte{"a.txt": []byte("some text"), "b.bin": bytes.Repeat([]byte{0, 1, 2, 0xff}, 50_000)}
	write := func(id string, options ...kivik.Option) {
		t.Helper()
		atts := kivik.Attachments{}
		for name, content := range contents {
			kind := "application/octet-stream"
			if strings.HasSuffix(name, ".txt") {
				kind = "text/plain"
			}
			atts[name] = attachment(name, kind, content)
		}
		_, err := db.Put(ctx, id, body{"v": 1, "_attachments": &atts}, options...)
		must(t, err)
	}
	write("multipart")
	write("inline", couchdb.OptionNoMultipartPut())
	for _, id := range []string{"multipart", "inline"} {
		for _, options := range [][]kivik.Option{
			{kivik.Param("attachments", true)},
			{kivik.Param("attachments", true), couchdb.OptionNoMultipartGet()},
		} {
			doc := db.Get(ctx, id, options...)
			if len(options) == 2 {
				var inline struct {
					Attachments kivik.Attachments `json:"_attachments"`
				}
				must(t, doc.ScanDoc(&inline))
				for name, content := range contents {
					got, err := io.ReadAll(inline.Attachments[name].Content)
					must(t, err)
					if !bytes.Equal(got, content) {
						t.Errorf("%s/%s inline: %d bytes", id, name, len(got))
					}
				}
				continue
			}
			atts, err := doc.Attachments()
			must(t, err)
			found := 0
			for {
				att, err := atts.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				must(t, err)
				var in io.Reader = att.Content
				if att.ContentEncoding == "gzip" { // kivik hands a part out as it is stored
					in, err = gzip.NewReader(in)
					must(t, err)
				}
				got, err := io.ReadAll(in)
				must(t, err)
				if !bytes.Equal(got, contents[att.Filename]) {
					t.Errorf("%s/%s multipart: %d bytes", id, att.Filename, len(got))
				}
				found++
			}
			if found != len(contents) {
				t.Errorf("%s: %d attachments", id, found)
			}
		}
	}
}
