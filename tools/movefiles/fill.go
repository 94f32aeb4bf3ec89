//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

const (
	database  = "movefiles"
	batchSize = 1000
	// marks is how many checkpoints are written while the database is filled.
	marks = 12
	// maxMarks is more than there are, where a database was filled in several calls.
	maxMarks = 30
)

// hash is the hash of a made revision.
func hash(i int, what string) string {
	return fmt.Sprintf("%x", md5.Sum(fmt.Appendf(nil, "%s%d", what, i)))
}

// docID spreads the documents over the shards, and is not in the order of numbers.
func docID(i int) string { return hash(i, "id")[:12] + fmt.Sprintf("-%07d", i) }

// document are the leaf revisions of document i: of seven one is deleted, of ten one has a longer
// line, of those that are both each has two leaves, both deleted or one; of fifty one has an
// attachment, of five thousand one a large one.
func document(i int) (revs []map[string]any) {
	add := func(what string, line []string, more map[string]any) {
		start := len(line)
		doc := map[string]any{
			"_id": docID(i), "_rev": fmt.Sprintf("%d-%s", start, line[0]), "n": i, "what": what,
			"text": strings.Repeat(what, i%20), "f": float64(i) / 7,
			"list":       []any{i, nil, true, map[string]any{"é": what}},
			"_revisions": map[string]any{"start": start, "ids": line},
		}
		for k, v := range more {
			doc[k] = v
		}
		revs = append(revs, doc)
	}
	first := hash(i, "1")
	switch {
	case i%7 == 3:
		add("deleted", []string{hash(i, "2"), first}, map[string]any{"_deleted": true})
	case i%50 == 1:
		size := 20 + i%2000
		if i%5000 == 1 {
			size = 100_000
		}
		data := bytes.Repeat(fmt.Appendf(nil, "%07d ", i), size/8+1)[:size]
		add("attachment", []string{first}, map[string]any{"_attachments": map[string]any{"a/b.txt": map[string]any{
			"content_type": "text/plain", "data": base64.StdEncoding.EncodeToString(data)}}})
	default:
		add("plain", []string{first}, nil)
	}
	if i%10 == 4 {
		add("conflict", []string{hash(i, "c3"), hash(i, "c2"), first}, map[string]any{"_deleted": i%20 == 4})
	}
	return revs
}

// edited is a later revision of a document that was plain.
func edited(i int) map[string]any {
	return map[string]any{"_id": docID(i), "_rev": "2-" + hash(i, "edit"), "n": -i, "_revisions": map[string]any{
		"start": 2, "ids": []string{hash(i, "edit"), hash(i, "1")}}}
}

// fill writes the documents that are missing, and at marks steps of it edits earlier documents and
// writes a checkpoint as PouchDB does. It returns the number of batches that were written.
func fill(ctx context.Context, s *server, docs int) (batches int, err error) {
	err = s.do(ctx, http.MethodPut, "/"+database+"?q=4", nil, nil)
	if err != nil && !strings.Contains(err.Error(), "412") {
		return 0, err
	}
	var done struct{ N int }
	if err := s.do(ctx, http.MethodGet, "/"+database+"/_local/filled", nil, &done); err != nil &&
		!strings.Contains(err.Error(), "404") {
		return 0, err
	}
	each := max(docs/marks/batchSize, 1)
	for batch := done.N; batch*batchSize < docs; batch++ {
		var revs []map[string]any
		for i := batch * batchSize; i < min((batch+1)*batchSize, docs); i++ {
			revs = append(revs, document(i)...)
			if earlier := i / 2; i%100 == 0 && earlier > 0 && earlier%7 != 3 && earlier%50 != 1 {
				revs = append(revs, edited(earlier))
			}
		}
		body := map[string]any{"new_edits": false, "docs": revs}
		if err := s.do(ctx, http.MethodPost, "/"+database+"/_bulk_docs", body, nil); err != nil {
			return batches, err
		}
		batches++
		if (batch+1)%each == 0 {
			if err := mark(ctx, s, (batch+1)/each); err != nil {
				return batches, err
			}
		}
		if err := s.put(ctx, "/"+database+"/_local/filled", map[string]any{"n": batch + 1}); err != nil {
			return batches, err
		}
	}
	return batches, nil
}

// mark writes a checkpoint, of every second one a replicator's, at the database's present sequence.
func mark(ctx context.Context, s *server, n int) error {
	var info struct {
		Seq string `json:"update_seq"`
	}
	if err := s.do(ctx, http.MethodGet, "/"+database, nil, &info); err != nil {
		return err
	}
	session := hash(n, "session")
	doc := map[string]any{"session_id": session, "replicator": "pouchdb", "version": 1, "last_seq": info.Seq,
		"history": []any{map[string]any{"session_id": session, "last_seq": info.Seq}}}
	if n%2 == 0 {
		doc = map[string]any{"session_id": session, "replication_id_version": 4, "source_last_seq": info.Seq,
			"history": []any{map[string]any{"session_id": session, "recorded_seq": info.Seq, "end_last_seq": info.Seq,
				"start_last_seq": 0, "docs_written": 1}}}
	}
	return s.put(ctx, checkpoint(n), doc)
}

func checkpoint(n int) string { return fmt.Sprintf("/%s/_local/checkpoint-%02d", database, n) }

// put writes a local document, or replaces it: anew if what was tried before had been written.
func (s *server) put(ctx context.Context, path string, doc map[string]any) (err error) {
	for range tries {
		var there struct {
			Rev string `json:"_rev"`
		}
		if err = s.do(ctx, http.MethodGet, path, nil, &there); err == nil {
			doc["_rev"] = there.Rev
		}
		err = s.do(ctx, http.MethodPut, path, doc, nil)
		if refused := (*refusal)(nil); !errors.As(err, &refused) || refused.status != http.StatusConflict {
			return err
		}
	}
	return err
}

// do sends a request and reads the answer into to, if that is not nil.
func (s *server) do(ctx context.Context, method, path string, body, to any) error {
	var text []byte
	var err error
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	resp, err := s.send(ctx, method, path, text)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if to == nil {
		to = new(json.RawMessage)
	}
	return json.NewDecoder(resp.Body).Decode(to)
}
