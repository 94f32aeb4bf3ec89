//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// server is one of the two.
type server struct{ base string }

// tries is how often a request is sent that a server does not do: a CouchDB with little of a machine
// answers that it timed out, or not at all. All requests may be done twice.
const tries = 20

// send sends a request; a status that is no success is an error. The caller closes the body.
func (s *server) send(ctx context.Context, method, path string, body []byte) (resp *http.Response, err error) {
	for try := range tries {
		time.Sleep(time.Duration(try) * time.Second)
		if resp, err = s.sendOnce(ctx, method, path, body); err == nil {
			return resp, nil
		}
		if refused := (*refusal)(nil); errors.As(err, &refused) && refused.status < http.StatusInternalServerError {
			return nil, err
		}
	}
	return nil, err
}

// refusal is an answer whose status is no success.
type refusal struct {
	status int
	what   string
}

func (r *refusal) Error() string { return r.what }

func (s *server) sendOnce(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000)) // what there is of a reason
		_ = resp.Body.Close()
		return nil, &refusal{resp.StatusCode, fmt.Sprintf("%s %s: %d %s", method, path, resp.StatusCode, text)}
	}
	return resp, nil
}

// change is a row of _changes.
type change struct {
	ID      string
	Changes []struct{ Rev string }
	Deleted bool
}

// changes calls fn for each row of a server's feed.
func (s *server) changes(ctx context.Context, since string, fn func(change) error) error {
	resp, err := s.send(ctx, http.MethodGet, "/"+database+"/_changes?style=all_docs&since="+since, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewReaderSize(resp.Body, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		line = bytes.Trim(line, ",\r\n")
		if bytes.HasPrefix(line, []byte(`{"seq"`)) {
			var c change
			if err := json.Unmarshal(line, &c); err != nil {
				return err
			}
			if err := fn(c); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// set is what a feed has, whatever its order: the number of documents and leaves, and the sum of
// the hashes of the rows.
type set struct {
	documents, leaves int
	sum               [sha256.Size]byte
}

func (s *set) add(c change) {
	revs := make([]string, len(c.Changes))
	for i := range c.Changes {
		revs[i] = c.Changes[i].Rev
	}
	slices.Sort(revs)
	s.documents++
	s.leaves += len(revs)
	hash := sha256.Sum256(fmt.Appendf(nil, "%s %v %t", c.ID, revs, c.Deleted))
	carry := 0
	for i := range hash {
		carry += int(s.sum[i]) + int(hash[i])
		s.sum[i] = byte(carry)
		carry >>= 8
	}
}

// compare asks both servers for every leaf revision: the feeds have to have the same documents with
// the same leaves, and each leaf has to have the same body, line and attachments.
func compare(ctx context.Context, couch, settee *server) (ours set, err error) {
	if err := settee.changes(ctx, "0", func(c change) error { ours.add(c); return nil }); err != nil {
		return ours, err
	}
	var theirs set
	var ask []string
	leaves := func() error {
		body := []byte(`{"docs":[` + strings.Join(ask, ",") + `]}`)
		ask = ask[:0]
		want, err := couch.leaves(ctx, body)
		if err != nil {
			return err
		}
		have, err := settee.leaves(ctx, body)
		if err != nil {
			return err
		}
		if !slices.Equal(want, have) {
			for i := range want {
				if i >= len(have) || want[i] != have[i] {
					return fmt.Errorf("a leaf differs:\n%.2000s\nis, at the settee, among\n%.2000s", want[i], have)
				}
			}
			return fmt.Errorf("%d leaves are %d at the settee", len(want), len(have))
		}
		return nil
	}
	err = couch.changes(ctx, "0", func(c change) error {
		theirs.add(c)
		for _, r := range c.Changes {
			ask = append(ask, fmt.Sprintf(`{"id":%q,"rev":%q}`, c.ID, r.Rev))
		}
		if len(ask) < 1000 {
			return nil
		}
		return leaves()
	})
	if err == nil && len(ask) > 0 {
		err = leaves()
	}
	if err == nil && ours != theirs {
		err = fmt.Errorf("the feeds differ: %d documents and %d leaves, at the settee %d and %d",
			theirs.documents, theirs.leaves, ours.documents, ours.leaves)
	}
	return theirs, err
}

// leaves gives revisions with lines and attachments, as texts with sorted members.
func (s *server) leaves(ctx context.Context, body []byte) (texts []string, err error) {
	resp, err := s.send(ctx, http.MethodPost, "/"+database+"/_bulk_get?revs=true&attachments=true", body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		Results []struct {
			Docs []struct {
				OK    any
				Error any
			}
		}
	}
	d := json.NewDecoder(resp.Body)
	d.UseNumber()
	if err := d.Decode(&answer); err != nil {
		return nil, err
	}
	for _, r := range answer.Results {
		for _, doc := range r.Docs {
			text, err := json.Marshal(doc)
			if err != nil {
				return nil, err
			}
			texts = append(texts, string(text))
		}
	}
	slices.Sort(texts)
	return texts, nil
}

// compareCheckpoints follows each checkpoint on both servers: what comes behind it has to be the
// same.
func compareCheckpoints(ctx context.Context, couch, settee *server) error {
	for n := range maxMarks {
		var sets [2]set
		missing := false
		for i, s := range []*server{couch, settee} {
			var doc struct {
				Last   string `json:"last_seq"`
				Source string `json:"source_last_seq"`
			}
			if err := s.do(ctx, http.MethodGet, checkpoint(n), nil, &doc); err != nil {
				if missing = i == 0 && strings.Contains(err.Error(), "404"); missing {
					break
				}
				return err
			}
			since := doc.Last + doc.Source
			if err := s.changes(ctx, since, func(c change) error { sets[i].add(c); return nil }); err != nil {
				return err
			}
		}
		if missing {
			continue
		}
		if sets[0] != sets[1] {
			return fmt.Errorf("behind checkpoint %d are %d documents, at the settee %d",
				n, sets[0].documents, sets[1].documents)
		}
		fmt.Printf("checkpoint %d: the same %d documents come behind it\n", n, sets[0].documents)
	}
	return nil
}
