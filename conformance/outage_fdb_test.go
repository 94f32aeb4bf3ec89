//go:build fdb

package conformance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// outageClient sends one request after the other and notes how they are answered.
type outageClient struct {
	name   string
	method string
	path   func(n int) string
	body   string
	bound  time.Duration // for an answer while the cluster is away

	mu       sync.Mutex
	statuses map[int]int
	slowest  time.Duration
	lastGood time.Time
}

func (o *outageClient) run(ctx context.Context, base string) {
	client := &http.Client{Transport: &http.Transport{}}
	for n := 0; ctx.Err() == nil; n++ {
		begin := time.Now()
		r, err := http.NewRequestWithContext(ctx, o.method, base+o.path(n), strings.NewReader(o.body))
		if err != nil {
			return
		}
		r.SetBasicAuth(AdminName, AdminPassword)
		r.Header.Set("Content-Type", "application/json")
		status := 0
		if w, err := client.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, w.Body)
			w.Body.Close()
			status = w.StatusCode
		}
		if ctx.Err() != nil {
			return
		}
		o.mu.Lock()
		o.statuses[status]++
		o.slowest = max(o.slowest, time.Since(begin))
		if status == http.StatusOK || status == http.StatusCreated {
			o.lastGood = time.Now()
		}
		o.mu.Unlock()
		time.Sleep(20 * time.Millisecond)
	}
}

// outageFeed reads a feed and notes the longest time in which it said nothing, and what it had.
type outageFeed struct {
	mu      sync.Mutex
	silence time.Duration
	ids     map[string]int
	ended   bool
}

func (o *outageFeed) run(ctx context.Context, base, path string) {
	r, err := http.NewRequestWithContext(ctx, "GET", base+path, nil)
	if err != nil {
		return
	}
	r.SetBasicAuth(AdminName, AdminPassword)
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		return
	}
	defer w.Body.Close()
	lines := bufio.NewReader(w.Body)
	for last := time.Now(); ; last = time.Now() {
		line, err := lines.ReadString('\n')
		o.mu.Lock()
		if err != nil {
			o.ended = ctx.Err() == nil
			o.mu.Unlock()
			return
		}
		o.silence = max(o.silence, time.Since(last))
		if _, id, ok := strings.Cut(line, `"id":"`); ok {
			id, _, _ = strings.Cut(id, `"`)
			o.ids[id]++
		}
		o.mu.Unlock()
	}
}

// TestOutage: what clients of a node see while its whole cluster is away for 40 seconds. Each
// request is answered within the bound, feeds go on with their heartbeats, and all goes on by
// itself afterwards.
func TestOutage(t *testing.T) {
	const documents = 4000
	cluster := newCluster(t)
	i := slices.IndexFunc(Engines, func(e Engine) bool { return e.Name == "fdb" })
	if i < 0 {
		t.Skip("no FoundationDB cluster to test on: FDB_CLUSTER_FILE is not set")
	}
	s, err := Engines[i].StartWith(t.Context(), t.TempDir(), Options{
		Env: []string{"FDB_CLUSTER_FILE=" + cluster.file, "SETTEE_FDB_PREFIX=outage"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	c := clientFor(t, s.Addr)
	c.want(http.StatusCreated, c.do("PUT", "/db", ""))
	c.put("db", "doc", `{"n":1}`)
	c.put("db", "_design/quick", `{"views":{"v":{"map":"function (doc) { emit(doc.n) }"}}}`)
	var docs []string
	for n := range documents {
		docs = append(docs, fmt.Sprintf(`{"_id":"d%05d","n":%d}`, n, n))
	}
	for part := range slices.Chunk(docs, 1000) {
		c.want(http.StatusCreated, c.do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(part, ",")+`]}`))
	}
	at := func(path string) func(int) string { return func(int) string { return path } }
	clients := []*outageClient{
		{name: "GET a document", method: "GET", path: at("/db/doc")},
		{name: "PUT a document", method: "PUT", body: `{"n":1}`, path: func(n int) string {
			return fmt.Sprint("/db/new", n)
		}},
		{name: "_all_docs", method: "GET", path: at("/db/_all_docs?limit=10")},
		{name: "_changes", method: "GET", path: at("/db/_changes?limit=10")},
		{name: "_changes, longpoll", method: "GET", path: at("/db/_changes?feed=longpoll&since=now&timeout=3000")},
		{name: "_find", method: "POST", path: at("/db/_find"), body: `{"selector":{"n":{"$gt":3990}},"limit":5}`},
		{name: "a view", method: "GET", path: at("/db/_design/quick/_view/v?limit=1")},
		{name: "a view that is being built", method: "GET", path: func(n int) string {
			return fmt.Sprintf("/db/_design/slow%d/_view/v?limit=1", n%8)
		}},
		{name: "_session", method: "GET", path: at("/_session")},
		{name: "_active_tasks", method: "GET", path: at("/_active_tasks")},
		{name: "_up", method: "GET", path: at("/_up"), bound: 5 * time.Second},
	}
	for n := range 8 {
		c.put("db", fmt.Sprint("_design/slow", n), fmt.Sprintf(
			`{"options":{"n":%d},"views":{"v":{"map":"function (doc) { for (var i = 0; i < 20000; i++) {} emit(doc.n + %d) }"}}}`,
			n, n))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	feed := &outageFeed{ids: make(map[string]int)}
	var running sync.WaitGroup
	running.Go(func() { feed.run(ctx, s.URL(), "/db/_changes?feed=continuous&heartbeat=1000") })
	for _, o := range clients {
		o.statuses = make(map[int]int)
		running.Go(func() { o.run(ctx, s.URL()) })
	}
	time.Sleep(3 * time.Second)
	cluster.kill()
	left := time.Now()
	time.Sleep(40 * time.Second)
	up := clientFor(t, s.Addr).do("GET", "/_up", "")
	if up.Status != http.StatusServiceUnavailable {
		t.Errorf("_up at the end of the outage: %d %s", up.Status, up.Body)
	}
	if log := s.Tail(); !strings.Contains(log, "unavailable") && !strings.Contains(log, "does not answer") {
		t.Errorf("nothing in the log of the outage: %s", log)
	}
	cluster.start()
	back := time.Now()
	for _, o := range clients { // all are answered again
		for o.good().Before(back) {
			if time.Since(back) > 2*time.Minute {
				t.Fatalf("%s is not answered after the outage: %v", o.name, o.statuses)
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Logf("%-28s %v, slowest %.1f s, good again %.1f s after the servers were started", o.name, o.statuses,
			o.slowest.Seconds(), o.good().Sub(back).Seconds())
	}
	stop()
	running.Wait()
	for _, o := range clients {
		bound := o.bound
		if bound == 0 {
			bound = killsBound + killsSlack
		}
		if o.slowest > bound {
			t.Errorf("%s took %v", o.name, o.slowest)
		}
		for status := range o.statuses {
			if !slices.Contains([]int{200, 201, 409, 503}, status) {
				t.Errorf("%s: %d answers %d", o.name, o.statuses[status], status)
			}
		}
	}
	t.Logf("the cluster was away for %.1f s; longest silence of the feed %v", back.Sub(left).Seconds(), feed.silence)
	if feed.ended || feed.silence > 10*time.Second {
		t.Errorf("the feed ended: %v; it said nothing for %v", feed.ended, feed.silence)
	}
	for id, n := range feed.ids {
		if n > 1 {
			t.Errorf("the feed had %s %d times", id, n)
		}
	}
}

func (o *outageClient) good() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lastGood
}

// TestWake prints how long it takes from a write at one node until a feed at another one has it.
func TestWake(t *testing.T) {
	const writes = 300
	servers := fdbNodes(t, 2)
	at, other := clientFor(t, servers[0].Addr), servers[1]
	at.want(http.StatusCreated, at.do("PUT", "/wake", ""))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, err := http.NewRequestWithContext(ctx, "GET", other.URL()+"/wake/_changes?feed=continuous&heartbeat=10000", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth(AdminName, AdminPassword)
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	lines := bufio.NewReader(w.Body)
	var afterAnswer, afterRequest []time.Duration
	for n := range writes {
		id := fmt.Sprint("doc", n)
		begin := time.Now()
		at.put("wake", id, "{}")
		answered := time.Now()
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(line, `"id":"`+id+`"`) {
				break
			}
		}
		afterAnswer, afterRequest = append(afterAnswer, time.Since(answered)), append(afterRequest, time.Since(begin))
		time.Sleep(5 * time.Millisecond)
	}
	slices.Sort(afterAnswer)
	slices.Sort(afterRequest)
	t.Logf("at the other node after the answer: p50 %v, p99 %v; after the request: p50 %v, p99 %v",
		afterAnswer[writes/2], afterAnswer[writes*99/100], afterRequest[writes/2], afterRequest[writes*99/100])
}
