//go:build fdb

package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// What a client waits for an answer at most while the store is away (ADR 0043), and what it may
// take besides on a busy machine.
const (
	killsBound = 20 * time.Second
	killsSlack = 10 * time.Second
	// killsBuild is for queries of a view: they wait for its build, which other nodes begin anew
	// when one is killed.
	killsBuild = 2 * time.Minute
	// killsResume has the build of the view go on.
	killsResume = "/ledger/_compact/count"
)

// killsTest is a store of three nodes on a cluster, and clients that go on whatever is killed.
type killsTest struct {
	t       *testing.T
	nodes   []*Server
	client  *http.Client
	acked   []atomic.Int64 // by writer: it has been told that documents 0 … n-1 are stored
	refused atomic.Int64   // answers 503
	paused  atomic.Int64   // answers 503 of the view whose build is paused
	broken  atomic.Int64   // connections that ended without an answer
	took    killsTimes
	built   killsTimes   // of queries of the view, which wait for its build
	silence atomic.Int64 // ns: the longest time in which a feed that did not end said nothing
}

// killsTimes is how long requests took that got an answer, or none. It may be used by several
// goroutines.
type killsTimes struct {
	mu      sync.Mutex
	count   int
	slow    int // longer than the bound
	slowest time.Duration
	what    string // the slowest one and its answer
}

func (k *killsTimes) note(took time.Duration, what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.count++
	if took > killsBound {
		k.slow++
	}
	if took > k.slowest {
		k.slowest, k.what = took, what
	}
}

func (k *killsTimes) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return fmt.Sprintf("%d requests, %d longer than %v, the slowest %v (%s)", k.count, k.slow, killsBound, k.slowest,
		k.what)
}

// killsBatch is how many documents a request of each writer has; 1 is a PUT.
var killsBatch = []int{1, 1, 10, 10, 50, 50, 100, 100}

func killsID(writer, n int) string { return fmt.Sprintf("w%02d-%07d", writer, n) }

// node is a URL of any of the nodes.
func (k *killsTest) node() string { return k.nodes[rand.N(len(k.nodes))].URL() }

// do sends a request to any node. status is 0 where no answer came; that of a node that is killed,
// or starts, is none.
func (k *killsTest) do(ctx context.Context, method, path, body string) (status int, answer []byte) {
	begin := time.Now()
	bound, times := killsBound+killsSlack, &k.took
	if strings.Contains(path, "/_view/") {
		bound, times = killsBuild, &k.built
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, k.node()+path, strings.NewReader(body))
	if err != nil {
		k.t.Error(err)
		return 0, nil
	}
	r.SetBasicAuth(AdminName, AdminPassword)
	r.Header.Set("Content-Type", "application/json")
	w, err := k.client.Do(r)
	if err == nil {
		defer w.Body.Close()
		answer, err = io.ReadAll(w.Body)
	}
	switch {
	case err != nil:
		times.note(time.Since(begin), method+" "+path+": "+err.Error())
	default:
		times.note(time.Since(begin), fmt.Sprintf("%s %s: %d, %d bytes", method, path, w.StatusCode, len(answer)))
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		k.t.Errorf("%s %s hangs", method, path)
		return 0, nil
	case err != nil:
		k.broken.Add(1)
		time.Sleep(50 * time.Millisecond)
		return 0, nil
	case w.StatusCode == http.StatusServiceUnavailable && bytes.Contains(answer, []byte("is paused")):
		k.paused.Add(1) // as designed, after three kills in a row: it goes on as an operator would have it
		if path != killsResume {
			k.do(ctx, "POST", killsResume, "{}")
		}
	case w.StatusCode == http.StatusServiceUnavailable:
		k.refused.Add(1)
		if w.Header.Get("Retry-After") == "" {
			k.t.Errorf("%s %s: 503 without Retry-After: %s", method, path, answer)
		}
		time.Sleep(50 * time.Millisecond)
	case w.StatusCode >= 500:
		k.t.Errorf("%s %s: %d %s", method, path, w.StatusCode, answer)
	}
	return w.StatusCode, answer
}

// write writes documents one batch after the other until ctx ends. A batch is written again until
// each document of it is acknowledged: stored now, or a conflict because it was stored before.
func (k *killsTest) write(ctx context.Context, writer int) {
	size := killsBatch[writer]
	for n := 0; ctx.Err() == nil; {
		if size == 1 {
			path := "/ledger/" + killsID(writer, n)
			switch status, answer := k.do(ctx, "PUT", path, `{"writer":`+fmt.Sprint(writer)+`}`); status {
			case http.StatusCreated, http.StatusConflict:
				n++
			case 0, http.StatusServiceUnavailable, http.StatusInternalServerError:
			default:
				k.t.Errorf("PUT %s: %d %s", path, status, answer)
				return
			}
		} else if k.writeBatch(ctx, writer, n, size) {
			n += size
		}
		k.acked[writer].Store(int64(n))
	}
}

func (k *killsTest) writeBatch(ctx context.Context, writer, from, size int) bool {
	var body strings.Builder
	for i := range size {
		fmt.Fprintf(&body, `,{"_id":%q,"writer":%d}`, killsID(writer, from+i), writer)
	}
	status, answer := k.do(ctx, "POST", "/ledger/_bulk_docs", `{"docs":[`+body.String()[1:]+`]}`)
	if status != http.StatusCreated {
		return false
	}
	var rows []struct{ ID, Error, Reason string }
	if err := json.Unmarshal(answer, &rows); err != nil || len(rows) != size {
		k.t.Errorf("_bulk_docs: %v %s", err, answer)
		return false
	}
	return !slices.ContainsFunc(rows, func(row struct{ ID, Error, Reason string }) bool {
		return row.Error != "" && row.Error != "conflict"
	})
}

// read asks for documents that were acknowledged until ctx ends: each is there, at every node.
func (k *killsTest) read(ctx context.Context) {
	for ctx.Err() == nil {
		writer := rand.N(len(k.acked))
		n := k.acked[writer].Load()
		if n == 0 {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		id := killsID(writer, rand.N(int(n)))
		if status, answer := k.do(ctx, "GET", "/ledger/"+id, ""); status == http.StatusNotFound {
			k.t.Errorf("%s is lost: %s", id, answer)
			return
		}
	}
}

// query asks for the view until ctx ends, bringing it up to date each time.
func (k *killsTest) query(ctx context.Context) {
	for ctx.Err() == nil {
		before := k.total()
		status, answer := k.do(ctx, "GET", "/ledger/_design/count/_view/writers", "")
		if status != http.StatusOK {
			continue
		}
		var result struct{ Rows []struct{ Value int64 } }
		if err := json.Unmarshal(answer, &result); err != nil {
			k.t.Errorf("%v: %s", err, answer)
		} else if len(result.Rows) == 0 && before > 0 || len(result.Rows) > 0 && result.Rows[0].Value < before {
			k.t.Errorf("the view lacks documents: %s, of %d acknowledged before it was asked", answer, before)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// total is how many documents are acknowledged.
func (k *killsTest) total() (sum int64) {
	for i := range k.acked {
		sum += k.acked[i].Load()
	}
	return sum
}

// follow reads the feed, at another node whenever it ends, and notes which documents it has had. It
// returns when done is closed and all of them were there, or ctx ends.
func (k *killsTest) follow(ctx context.Context, seen *feedSeen, done <-chan struct{}) {
	since := "0"
	for ctx.Err() == nil {
		select {
		case <-done:
			if seen.all(k) {
				return
			}
		default:
		}
		since = k.followOnce(ctx, since, seen, done)
	}
}

// followOnce reads the feed at one node until it ends and tells where.
func (k *killsTest) followOnce(ctx context.Context, since string, seen *feedSeen, done <-chan struct{}) string {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET",
		k.node()+"/ledger/_changes?feed=continuous&heartbeat=1000&since="+since, nil)
	if err != nil {
		k.t.Error(err)
		return since
	}
	r.SetBasicAuth(AdminName, AdminPassword)
	begin := time.Now()
	w, err := k.client.Do(r)
	if err != nil {
		time.Sleep(50 * time.Millisecond)
		return since
	}
	defer w.Body.Close()
	if w.StatusCode != http.StatusOK {
		if took := time.Since(begin); took > killsBound+killsSlack {
			k.t.Errorf("a feed was refused after %v", took)
		}
		time.Sleep(50 * time.Millisecond)
		return since
	}
	lines := bufio.NewReader(w.Body)
	for last := time.Now(); ; last = time.Now() {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return since // what it said before is silence of a node that is dead
		}
		if silent := int64(time.Since(last)); silent > k.silence.Load() {
			k.silence.Store(silent)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			var row struct {
				Seq json.RawMessage
				ID  string
			}
			if err := json.Unmarshal(line, &row); err != nil || row.ID == "" {
				return since // the last line of a feed that ends
			}
			since = strings.Trim(string(row.Seq), `"`)
			seen.note(row.ID)
		}
		select {
		case <-done:
			if seen.all(k) {
				return since
			}
		default:
		}
	}
}

// feedSeen are the documents that a feed has had. It is for one goroutine.
type feedSeen struct {
	ids  map[string]int
	upTo []int // of each writer: how many of its first documents were there
}

func (f *feedSeen) note(id string) { f.ids[id]++ }

// all reports whether every document was there that is acknowledged. What was stored without an
// answer does not stand in for another one.
func (f *feedSeen) all(k *killsTest) bool {
	for writer := range k.acked {
		n := int(k.acked[writer].Load())
		for f.upTo[writer] < n && f.ids[killsID(writer, f.upTo[writer])] > 0 {
			f.upTo[writer]++
		}
		if f.upTo[writer] < n {
			return false
		}
	}
	return true
}

// killsFunction is an event function that counts each document of the first killsCounted writers,
// by itself and in a total: an event whose effects are lost, or come twice, shows in a number.
const (
	killsCounted  = 2
	killsFunction = `
function OnUpdate(doc, meta) {
  if (!(doc.writer < 2)) return;
  for (const key of ['doc:' + meta.id, 'total']) {
    const sum = dst[key] || {n: 0};
    sum.n++;
    dst[key] = sum;
  }
}`
)

// killsDeploy deploys the function.
func killsDeploy(c *client) {
	c.want(http.StatusCreated, c.do("PUT", "/effects", ""))
	const path = "/_eventing/api/v1/functions/count"
	const function = `{"appname":"count","appcode":%s,"settings":{},"depcfg":{
		"source_bucket":"ledger","buckets":[{"alias":"dst","bucket_name":"effects","access":"rw"}]}}`
	c.want(http.StatusOK, c.do("POST", path, fmt.Sprintf(function, encode(killsFunction))))
	c.want(http.StatusOK, c.do("POST", path+"/deploy?wait=60s", ""))
}

// killsEffects waits until the function has nothing to do, as long as it gets on, and compares its
// effects with the documents that are there.
func killsEffects(t *testing.T, c *client, there map[string]bool) {
	last, since := -1, time.Now()
	for ; ; time.Sleep(100 * time.Millisecond) {
		crashResume(c)
		var left struct {
			Events int `json:"dcp_backlog"`
		}
		c.decode(c.want(http.StatusOK, c.do("GET", "/_eventing/getDcpEventsRemaining?name=count", "")), &left)
		if left.Events == 0 {
			break
		}
		if left.Events != last {
			last, since = left.Events, time.Now()
		} else if time.Since(since) > 2*time.Minute {
			t.Fatalf("%d events are left", left.Events)
		}
	}
	effects := c.crashEventDocs("effects")
	counted, wrong := 0, 0
	for id := range there {
		if !strings.HasPrefix(id, "w") || id >= killsID(killsCounted, 0) {
			continue
		}
		counted++
		if effects["doc:"+id].N != 1 {
			if wrong++; wrong <= 10 {
				t.Errorf("%s has been counted %d times", id, effects["doc:"+id].N)
			}
		}
	}
	if total := effects["total"].N; wrong > 0 || total != counted || len(effects) != counted+1 {
		t.Errorf("of %d documents %d are not counted once; total %d, %d effects", counted, wrong, total, len(effects))
	}
	t.Logf("%d events with effects, each once", counted)
}

// TestKills: three processes of FoundationDB, three nodes, and clients that write, read, query and
// follow the feed at any of them, while one process after the other is killed, of either kind, and
// once the whole cluster is away for 40 seconds. Nothing that was acknowledged is lost, nobody
// waits longer than the bound, feeds go on where they were, the view is what a fresh build makes,
// each event has its effects once, and the store passes its check.
func TestKills(t *testing.T) {
	kills, writes, away := 30, int64(100_000), 40*time.Second
	if testing.Short() {
		kills, writes, away = 4, 4_000, 15*time.Second
	}
	cluster := newCluster(t)
	i := slices.IndexFunc(Engines, func(e Engine) bool { return e.Name == "fdb" })
	if i < 0 {
		t.Skip("no FoundationDB cluster to test on: FDB_CLUSTER_FILE is not set")
	}
	k := &killsTest{t: t, acked: make([]atomic.Int64, len(killsBatch)), client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 100},
	}}
	env := []string{"FDB_CLUSTER_FILE=" + cluster.file, "SETTEE_FDB_PREFIX=kills"}
	for range 3 {
		s, err := Engines[i].StartWith(t.Context(), t.TempDir(), Options{
			Env: env,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Kill)
		k.nodes = append(k.nodes, s)
	}
	c := clientFor(t, k.nodes[0].Addr)
	c.want(http.StatusCreated, c.do("PUT", "/ledger", ""))
	const design = `{"views":{"writers":{"map":"function (doc) { emit(doc.writer); %s}","reduce":"_count"}}}`
	c.put("ledger", "_design/count", fmt.Sprintf(design, ""))
	killsDeploy(c)

	work, stop := context.WithCancel(t.Context())
	defer stop()
	var working, following sync.WaitGroup
	for writer := range k.acked {
		working.Go(func() { k.write(work, writer) })
	}
	for range 3 {
		working.Go(func() { k.read(work) })
	}
	working.Go(func() { k.query(work) })
	done := make(chan struct{})
	feeds := make([]feedSeen, 3)
	for n := range feeds {
		feeds[n] = feedSeen{ids: make(map[string]int), upTo: make([]int, len(k.acked))}
		following.Go(func() { k.follow(t.Context(), &feeds[n], done) })
	}
	random := rand.New(rand.NewPCG(15, 30))
	pause := func(least, more time.Duration) { time.Sleep(least + time.Duration(random.Int64N(int64(more)))) }
	for kill := range kills {
		pause(time.Second, 2*time.Second)
		if victim := random.IntN(6); victim < 3 {
			t.Logf("kill %d: server %d; %d documents", kill, victim, k.total())
			cluster.servers[victim].Kill()
			pause(100*time.Millisecond, 2*time.Second)
			cluster.servers[victim].start()
		} else {
			node := k.nodes[victim-3]
			t.Logf("kill %d: node %d; %d documents", kill, victim-3, k.total())
			node.Kill()
			pause(100*time.Millisecond, 5*time.Second)
			restart(t, node)
		}
		if kill == kills/2 {
			cluster.kill()
			t.Logf("the cluster is away for %v", away)
			time.Sleep(away)
			cluster.start()
		}
	}
	for k.total() < writes && !t.Failed() {
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	working.Wait()
	close(done)
	ended := make(chan struct{})
	go func() { following.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("the feeds do not come to the end")
	}
	t.Logf("%d writes acknowledged, %d answers 503, %d of a paused build, %d without an answer, "+
		"longest silence of a feed %v; %v; queries of the view: %v",
		k.total(), k.refused.Load(), k.paused.Load(), k.broken.Load(), time.Duration(k.silence.Load()), &k.took,
		&k.built)
	if silence := time.Duration(k.silence.Load()); silence > 15*time.Second {
		t.Errorf("a feed with heartbeats said nothing for %v", silence)
	}
	killsVerify(t, k, feeds, fmt.Sprintf(design, "return; "))
	for _, s := range k.nodes {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	check := exec.CommandContext(t.Context(), path, "check", "--engine=fdb", "--data="+t.TempDir())
	check.Env = append(check.Environ(), env...)
	var out bytes.Buffer
	check.Stdout, check.Stderr = &out, io.Discard
	if err := check.Run(); err != nil {
		t.Errorf("settee check: %v\n%s", err, out.String())
	}
	t.Logf("settee check: %s", strings.TrimSpace(out.String()))
}

// restart starts a node again, as a service manager does: while the cluster recovers it ends with
// an error.
func restart(t *testing.T, s *Server) {
	for begin := time.Now(); ; {
		err := s.Restart(t.Context())
		if err == nil {
			return
		}
		if time.Since(begin) > 2*time.Minute {
			t.Fatal(err)
		}
	}
}

// killsVerify compares what was acknowledged with the documents, the feeds, and the view with a
// fresh build of it.
func killsVerify(t *testing.T, k *killsTest, feeds []feedSeen, design string) {
	c := clientFor(t, k.nodes[1].Addr)
	var all struct {
		Total int64 `json:"total_rows"`
		Rows  []struct{ ID string }
	}
	c.decode(c.want(http.StatusOK, c.do("GET", "/ledger/_all_docs", "")), &all)
	there := make(map[string]bool)
	for _, row := range all.Rows {
		there[row.ID] = true
	}
	var info struct {
		Count int64 `json:"doc_count"`
	}
	c.decode(c.want(http.StatusOK, c.do("GET", "/ledger", "")), &info)
	if n := int64(len(there)); info.Count != n || all.Total != n || int64(len(all.Rows)) != n {
		t.Errorf("%d documents; doc_count %d, total_rows %d, rows %d", n, info.Count, all.Total, len(all.Rows))
	}
	lost, unseen := 0, 0
	for writer := range k.acked {
		for n := range int(k.acked[writer].Load()) {
			id := killsID(writer, n)
			if !there[id] {
				lost++
			}
			for i := range feeds {
				if feeds[i].ids[id] == 0 {
					unseen++
				}
			}
		}
	}
	if lost > 0 || unseen > 0 {
		t.Errorf("%d acknowledged documents are lost, %d are missing in feeds", lost, unseen)
	}
	killsEffects(t, c, there)
	c.want(http.StatusAccepted, c.do("POST", killsResume, "{}")) // perhaps the last kills paused it
	c.put("ledger", "_design/fresh", design)
	for _, query := range []string{"?group=true", "", "?reduce=false"} {
		old := c.want(http.StatusOK, c.do("GET", "/ledger/_design/count/_view/writers"+query, ""))
		fresh := c.want(http.StatusOK, c.do("GET", "/ledger/_design/fresh/_view/writers"+query, ""))
		if old.Body != fresh.Body {
			t.Errorf("%s: the view has %d bytes, a fresh build %d", query, len(old.Body), len(fresh.Body))
		}
	}
}
