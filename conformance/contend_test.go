package conformance

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Clients that want the same document, on each engine: the answers must add up, and the store must
// pass its check.

const contenders = 16

// contention is how long they compete.
func contention() time.Duration { return time.Duration(scaled(600, 5000)) * time.Millisecond }

// onEveryEngine runs a test on a server of each engine. Those that keep data are checked after it.
func onEveryEngine(t *testing.T, test func(t *testing.T, c *client)) {
	for _, e := range Engines {
		t.Run(e.Name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := e.Start(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Kill)
			test(t, keptAlive(t, s.Addr))
			if last := s.log.from("level=ERROR"); last != "" {
				t.Errorf("errors in the log, the last one %.500s", last)
			}
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
			if strings.HasPrefix(e.Name, "pebble") {
				checkData(t, dir)
			}
		})
	}
}

// keptAlive is a client that reuses connections.
func keptAlive(t *testing.T, addr string) *client {
	c := clientFor(t, addr)
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: contenders}
	c.http.Transport = transport
	t.Cleanup(transport.CloseIdleConnections)
	return c
}

// compete runs a function by all contenders at the same time until it returns false.
func compete(work func(n int, random *rand.Rand) bool) {
	var group sync.WaitGroup
	for n := range contenders {
		group.Go(func() {
			for random := rand.New(rand.NewPCG(uint64(n), 7)); work(n, random); {
			}
		})
	}
	group.Wait()
}

// No update of a counter is lost: its value is the number of writes that were accepted, and so is
// its depth.
func TestContendedCounter(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, c *client) {
		c.want(http.StatusCreated, c.do("PUT", "/contended", ""))
		c.put("contended", "counter", `{"n":0}`)
		var accepted, refused atomic.Int64
		deadline := time.Now().Add(contention())
		compete(func(int, *rand.Rand) bool {
			var doc struct {
				Rev string `json:"_rev"`
				N   int64  `json:"n"`
			}
			c.decode(c.want(http.StatusOK, c.do("GET", "/contended/counter", "")), &doc)
			r := c.do("PUT", "/contended/counter", fmt.Sprintf(`{"_rev":%q,"n":%d}`, doc.Rev, doc.N+1))
			switch r.Status {
			case http.StatusCreated:
				accepted.Add(1)
			case http.StatusConflict:
				refused.Add(1)
			default:
				t.Errorf("%d %s", r.Status, r.Body)
			}
			return time.Now().Before(deadline) && !t.Failed()
		})
		var doc struct {
			Rev string `json:"_rev"`
			N   int64  `json:"n"`
		}
		c.decode(c.do("GET", "/contended/counter?conflicts=true", ""), &doc)
		if doc.N != accepted.Load() || int64(generation(doc.Rev)) != doc.N+1 {
			t.Errorf("the counter is %d at %s after %d accepted writes", doc.N, doc.Rev, accepted.Load())
		}
		t.Logf("%d writes, %d conflicts", accepted.Load(), refused.Load())
	})
}

// Attachments of one document, each contender its own: none is lost in the retries.
func TestContendedAttachments(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, c *client) {
		c.want(http.StatusCreated, c.do("PUT", "/contended", ""))
		rev := c.put("contended", "doc", `{}`)
		var mu sync.Mutex
		last := map[string]string{} // name -> contentTag
		deadline := time.Now().Add(contention())
		compete(func(n int, random *rand.Rand) bool {
			name := fmt.Sprintf("a%d", n)
			data := content(fmt.Sprint(n, random.Int()), random.IntN(150_000))
			for {
				mu.Lock()
				base := rev
				mu.Unlock()
				r := c.do(
					"PUT",
					"/contended/doc/"+name+"?rev="+base,
					string(data),
					"Content-Type",
					"application/octet-stream",
				)
				if r.Status == http.StatusCreated {
					var saved struct{ Rev string }
					c.decode(r, &saved)
					mu.Lock()
					if generation(saved.Rev) > generation(rev) {
						rev = saved.Rev
					}
					last[name] = contentTag(data)
					mu.Unlock()
					break
				}
				if r.Status != http.StatusConflict {
					t.Errorf("%d %s", r.Status, r.Body)
					return false
				}
			}
			return time.Now().Before(deadline)
		})
		row := bulkGetRow{}
		r := c.do("GET", "/contended/doc?attachments=true", "", "Accept", "application/json")
		if err := json.Unmarshal([]byte(`{"docs":[{"ok":`+r.Body+`}]}`), &row); err != nil {
			t.Fatal(err)
		}
		for found, leaf := range row.leaves() {
			if found != rev || len(leaf.Atts) != len(last) {
				t.Errorf("%s with %d attachments instead of %s with %d", found, len(leaf.Atts), rev, len(last))
			}
			for name, tag := range last {
				if leaf.Atts[name] != tag {
					t.Errorf("%s: %s instead of %s", name, leaf.Atts[name], tag)
				}
			}
		}
	})
}

// Everything at once on few documents, while the database is deleted and created again: no answer
// is an internal error, and the check finds nothing.
func TestContendedDatabase(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, c *client) {
		deadline := time.Now().Add(contention())
		var answers [600]atomic.Int64
		ask := func(method, path, body string, headers ...string) reply {
			r := c.do(method, path, body, append(headers, "Accept", "application/json")...)
			answers[r.Status].Add(1)
			if r.Status >= 500 {
				t.Errorf("%s: %d %s", r.asked, r.Status, r.Body)
			}
			return r
		}
		compete(func(n int, random *rand.Rand) bool {
			id := fmt.Sprintf("/contended/d%d", random.IntN(5))
			var doc struct {
				Rev string `json:"_rev"`
			}
			if r := ask("GET", id, ""); r.Status == http.StatusOK {
				c.decode(r, &doc)
			}
			rev := ""
			if doc.Rev != "" {
				rev = "?rev=" + doc.Rev
			}
			switch random.IntN(12) {
			case 0, 1, 2:
				ask("PUT", id+rev, fmt.Sprintf(`{"n":%d}`, n))
			case 3:
				ask("DELETE", id+rev, "")
			case 4:
				ask(
					"PUT",
					id+"/a"+rev,
					string(content(id, random.IntN(200_000))),
					"Content-Type",
					"application/octet-stream",
				)
			case 5:
				ask("POST", "/contended/_purge", fmt.Sprintf(`{"d%d":[%q]}`, random.IntN(5), doc.Rev))
			case 6:
				ask("POST", "/contended/_compact", "{}")
			case 7:
				ask(
					"POST",
					"/contended/_bulk_docs",
					fmt.Sprintf(`{"new_edits":false,"docs":[{"_id":"d%d","_rev":"%d-%016x"}]}`,
						random.IntN(5), 1+random.IntN(4), random.Uint64()),
				)
			case 8:
				ask("PUT", "/contended/_revs_limit", fmt.Sprint(1+random.IntN(5)))
			case 9:
				ask("GET", "/contended/_changes?include_docs=true&style=all_docs", "")
			case 10:
				ask("COPY", id, "", "Destination", fmt.Sprintf("d%d", random.IntN(5)))
			case 11:
				if random.IntN(4) == 0 {
					ask("DELETE", "/contended", "")
				}
				ask("PUT", "/contended", "")
			}
			return time.Now().Before(deadline) && !t.Failed()
		})
		var counts []string
		for status := range answers {
			if n := answers[status].Load(); n > 0 {
				counts = append(counts, fmt.Sprintf("%d × %d", n, status))
			}
		}
		t.Log(strings.Join(counts, ", "))
	})
}
