package conformance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// With SETTEE_SCALE=full the tests of this file run with the numbers that the project promises.
func scaled(short, full int) int {
	if os.Getenv("SETTEE_SCALE") == "full" {
		return full
	}
	return short
}

// scaleServer starts a server of its own; the tests look at its process.
func scaleServer(t *testing.T) (*client, *Server, string) {
	t.Helper()
	dir := t.TempDir()
	s, err := Engines[0].Start(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return clientFor(t, s.Addr), s, dir
}

// Many small databases cost keys, and nothing else: no descriptor, no goroutine, hardly memory.
func TestManyDatabases(t *testing.T) {
	databases, docs := scaled(1000, 10_000), 3
	c, s, dir := scaleServer(t)
	before := usageOf(t, c, s)
	begin := time.Now()
	c.http.Transport.(*http.Transport).DisableKeepAlives = false
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := worker; i < databases; i += 8 {
				db := fmt.Sprintf("/many-%05d", i)
				if r := c.do("PUT", db, ""); r.Status != http.StatusCreated {
					t.Errorf("%s: %d %s", db, r.Status, r.Body)
				}
				body := `{"docs":[` + joined(docs, func(i int) string { return fmt.Sprintf(`{"_id":"d%d"}`, i) }) + `]}`
				if r := c.do("POST", db+"/_bulk_docs", body); r.Status != http.StatusCreated {
					t.Errorf("%s: %d %s", db, r.Status, r.Body)
				}
			}
		})
	}
	group.Wait()
	took := time.Since(begin)
	c.http.CloseIdleConnections()
	c.http.Transport.(*http.Transport).DisableKeepAlives = true
	after := settles(c, s, before, 30) // the store opens some more files, not more for more databases
	t.Logf(
		"%d databases of %d documents in %s: %.0f bytes resident each; before %s; after %s",
		databases,
		docs,
		took.Round(time.Millisecond),
		float64(after.Resident-before.Resident)/float64(databases),
		before,
		after,
	)
	manyDatabasesShow(t, c, databases, docs)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	begin = time.Now()
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("restart in %s: %s", time.Since(begin).Round(time.Millisecond), usageOf(t, c, s))
	manyDatabasesShow(t, c, databases, docs)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	checkData(t, dir)
}

// manyDatabasesShow looks at the lists of databases.
func manyDatabasesShow(t *testing.T, c *client, databases, docs int) {
	t.Helper()
	begin := time.Now()
	var names []string
	c.decode(c.want(http.StatusOK, c.do("GET", `/_all_dbs?startkey="many-"&endkey="many."`, "")), &names)
	all := time.Since(begin)
	begin = time.Now()
	var infos []struct {
		Info struct {
			Docs int `json:"doc_count"`
		}
	}
	c.decode(c.want(http.StatusOK, c.do("GET", `/_dbs_info?startkey="many-"&endkey="many."`, "")), &infos)
	right := 0
	for _, i := range infos {
		if i.Info.Docs == docs {
			right++
		}
	}
	if len(names) != databases || len(infos) != databases || right != databases {
		t.Errorf(
			"_all_dbs: %d, _dbs_info: %d, %d of them right, instead of %d",
			len(names),
			len(infos),
			right,
			databases,
		)
	}
	t.Logf("_all_dbs in %s, _dbs_info in %s", all.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
	events := map[string]bool{}
	deadline := time.Now().Add(10 * time.Second)
	for ; len(events) < databases && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		var feed struct {
			Results []struct {
				Name string `json:"db_name"`
			}
		}
		c.decode(c.want(http.StatusOK, c.do("GET", "/_db_updates", "")), &feed)
		for _, r := range feed.Results {
			if strings.HasPrefix(r.Name, "many-") {
				events[r.Name] = true
			}
		}
	}
	if len(events) != databases {
		t.Errorf("_db_updates knows %d of %d databases", len(events), databases)
	}
}

// Many feeds that wait cost no time, little memory, and all wake up for one write.
func TestManyFeeds(t *testing.T) {
	feeds := scaled(500, 5000)
	c, s, _ := scaleServer(t)
	c.want(http.StatusCreated, c.do("PUT", "/feeds", ""))
	before := usageOf(t, c, s)
	woken := make(chan error, feeds)
	conns := make([]net.Conn, feeds)
	for i := range conns {
		conns[i] = openFeed(t, s.Addr, woken)
	}
	waiting := usageOf(t, c, s)
	const idle = 3 * time.Second
	time.Sleep(idle)
	still := usageOf(t, c, s)
	cpu := still.CPU - waiting.CPU
	t.Logf("%d feeds wait: %.1f KB resident each, %s of CPU in %s; %s", feeds,
		float64(still.Resident-before.Resident)/float64(feeds)/1e3, cpu, idle, still)
	if cpu > idle/20 {
		t.Errorf("%s of CPU in %s of waiting", cpu, idle)
	}
	if perFeed := float64(waiting.Goroutines-before.Goroutines) / float64(feeds); perFeed > 2.2 {
		t.Errorf("%.1f goroutines for each feed", perFeed)
	}
	begin := time.Now()
	c.put("feeds", "doc", `{}`)
	var first time.Duration
	for i := range conns {
		if err := <-woken; err != nil {
			t.Errorf("after %d feeds: %v", i, err)
			break
		}
		if i == 0 {
			first = time.Since(begin)
		}
	}
	t.Logf(
		"the first of %d feeds wakes after %s, the last after %s",
		feeds,
		first.Round(time.Millisecond),
		time.Since(begin).Round(time.Millisecond),
	)
	for _, conn := range conns {
		conn.Close()
	}
	t.Logf("afterwards: %s", settles(c, s, before, 8))
}

// openFeed opens a longpoll of /feeds and waits until it is waiting. When it ends with a change its
// reader says so.
func openFeed(t *testing.T, addr string, woken chan<- error) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(context.WithoutCancel(t.Context()), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, head("GET", "/feeds/_changes?feed=longpoll&since=now&heartbeat=60000", "")); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReaderSize(conn, 1024)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		body, err := io.ReadAll(resp.Body)
		if err == nil && !strings.Contains(string(body), `"id":"doc"`) {
			err = fmt.Errorf("no change in %q", body)
		}
		woken <- err
	}()
	return conn
}
