package conformance

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// replicationSize is how many documents TestReplicationFaults copies: some, or
// SETTEE_REPLICATION_DOCS.
func replicationSize(t *testing.T) int {
	text := os.Getenv("SETTEE_REPLICATION_DOCS")
	if text == "" {
		return 1500
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("SETTEE_REPLICATION_DOCS: %v", err)
	}
	return n
}

// TestReplicationFaults replicates two databases with different contents both ways through a proxy
// that loses, delays, cuts and refuses requests, while both servers are killed and started again.
// In the end both must hold the same leaf revisions with the same bodies and attachments, all that
// either had before.
func TestReplicationFaults(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	here, there := replicationServer(t), replicationServer(t)
	proxy, err := newFaultProxy(there.Addr, seed, 0.2)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	size := replicationSize(t)
	fillForReplication(t, clientFor(t, here.Addr), "here", size, random)
	fillForReplication(t, clientFor(t, there.Addr), "there", size, random)
	union := mergeLeaves(leavesOf(t, clientFor(t, here.Addr), "here"), leavesOf(t, clientFor(t, there.Addr), "there"))
	remote := "http://" + AdminName + ":" + AdminPassword + "@" + proxy.Addr + "/there"
	pairs := [2][2]string{{"here", remote}, {remote, "here"}}
	kills, rounds := 0, 0
	for deadline := time.Now().Add(4 * time.Minute); ; rounds++ {
		if time.Now().After(deadline) {
			t.Fatal("the databases do not become equal")
		}
		if kills < 4 {
			kills++
			victim := []*Server{here, there}[kills%2]
			killWhile(t, victim, time.Duration(20+random.IntN(600))*time.Millisecond, func() {
				for _, p := range pairs {
					replicateOnce(here.Addr, p[0], p[1])
				}
			})
			continue
		}
		if proxy.Injected.Load() >= 100 || rounds > 40 {
			proxy.Calm(0)
		}
		if replicateOnce(here.Addr, pairs[0][0], pairs[0][1]) && replicateOnce(here.Addr, pairs[1][0], pairs[1][1]) &&
			rounds > 8 {
			break
		}
	}
	a, b := leavesOf(t, clientFor(t, here.Addr), "here"), leavesOf(t, clientFor(t, there.Addr), "there")
	t.Logf(
		"%d documents each, %d leaves, %d faults, %d kills, %d rounds",
		size,
		len(union),
		proxy.Injected.Load(),
		kills,
		rounds,
	)
	compareLeaves(t, "here", a, union)
	compareLeaves(t, "there", b, union)
}

// replicationServer runs a server of its own for a test.
func replicationServer(t *testing.T) *Server {
	t.Helper()
	s, err := Engines[0].Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// killWhile kills a server at some moment of the work, and starts it again.
func killWhile(t *testing.T, s *Server, after time.Duration, work func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	time.Sleep(after)
	s.Kill()
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-done
}

// replicateOnce asks for a replication and reports whether it went to its end. Whatever else
// happens is what the test is for.
func replicateOnce(addr, source, target string) bool {
	body, err := json.Marshal(map[string]any{
		"source": source, "target": target, "connection_timeout": 3000, "retries_per_request": 4, "checkpoint_interval": 300,
		"worker_batch_size": 60,
	})
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/_replicate", bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.SetBasicAuth(AdminName, AdminPassword)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK && strings.Contains(string(text), `"ok":true`)
}

// fillForReplication writes documents with conflicts, deletions and attachments; some ids are those
// of the other side, too.
func fillForReplication(t *testing.T, c *client, db string, size int, random *rand.Rand) {
	t.Helper()
	c.want(http.StatusCreated, c.do("PUT", "/"+db, ""))
	var docs []string
	flush := func() {
		r := c.want(
			http.StatusCreated,
			c.do("POST", "/"+db+"/_bulk_docs", `{"new_edits":false,"docs":[`+strings.Join(docs, ",")+`]}`),
		)
		if strings.TrimSpace(r.Body) != "[]" {
			t.Fatal(r.Body)
		}
		docs = nil
	}
	for i := range size {
		id := fmt.Sprintf("%s%06d", []string{"both", db}[i%2], i)
		root := fmt.Sprintf("%032x", i)
		for range 1 + random.IntN(3)/2 {
			hash := fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64())
			doc := fmt.Sprintf(
				`{"_id":%q,"_rev":"2-%s","_revisions":{"start":2,"ids":[%q,%q]},"n":%d,"text":%q`,
				id,
				hash,
				hash,
				root,
				i,
				strings.Repeat("x", random.IntN(300)),
			)
			switch random.IntN(8) {
			case 0:
				doc += `,"_deleted":true`
			case 1:
				data := make([]byte, random.IntN(20000))
				for k := range data {
					data[k] = byte(random.Uint32())
				}
				doc += fmt.Sprintf(
					`,"_attachments":{"a":{"content_type":"application/octet-stream","revpos":2,"data":%q},"b.txt":{"content_type":"text/plain","revpos":2,"data":"aGVsbG8="}}`,
					base64.StdEncoding.EncodeToString(data),
				)
			}
			docs = append(docs, doc+"}")
		}
		if len(docs) >= 300 {
			flush()
		}
	}
	docs = append(docs, `{"_id":"_design/`+db+`","_rev":"1-abc","views":{}}`)
	flush()
}

// leavesOf reads all leaf revisions, as "id rev", with all that a reader sees of them.
func leavesOf(t *testing.T, c *client, db string) map[string]string {
	t.Helper()
	var feed struct {
		Results []struct {
			ID      string
			Changes []struct{ Rev string }
		}
	}
	c.decode(c.want(http.StatusOK, c.do("GET", "/"+db+"/_changes?style=all_docs", "")), &feed)
	leaves := make(map[string]string)
	var asked []string
	read := func() {
		if len(asked) == 0 {
			return
		}
		var got struct {
			Results []struct {
				ID   string
				Docs []struct{ OK json.RawMessage }
			}
		}
		c.decode(
			c.want(
				http.StatusOK,
				c.do("POST", "/"+db+"/_bulk_get?revs=true", `{"docs":[`+strings.Join(asked, ",")+`]}`),
			),
			&got,
		)
		for _, r := range got.Results {
			var doc struct {
				Rev string `json:"_rev"`
			}
			if err := json.Unmarshal(r.Docs[0].OK, &doc); err != nil {
				t.Fatalf("%s: %v", r.ID, err)
			}
			leaves[r.ID+" "+doc.Rev] = string(r.Docs[0].OK)
		}
		asked = nil
	}
	for _, row := range feed.Results {
		for _, change := range row.Changes {
			asked = append(asked, fmt.Sprintf(`{"id":%q,"rev":%q}`, row.ID, change.Rev))
		}
		if len(asked) >= 500 {
			read()
		}
	}
	read()
	return leaves
}

func mergeLeaves(a, b map[string]string) map[string]string {
	out := make(map[string]string, len(a)+len(b))
	for _, m := range []map[string]string{a, b} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

func compareLeaves(t *testing.T, name string, got, want map[string]string) {
	t.Helper()
	var bad []string
	for k, v := range want {
		if got[k] != v {
			bad = append(bad, k)
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			bad = append(bad, k+" (not expected)")
		}
	}
	slices.Sort(bad)
	if len(bad) > 0 {
		t.Errorf(
			"%s: %d of %d leaves are wrong, such as %s:\n%.300s\ninstead of\n%.300s",
			name,
			len(bad),
			len(want),
			bad[0],
			got[bad[0]],
			want[bad[0]],
		)
	}
}
