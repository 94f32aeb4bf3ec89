//go:build fdb

package conformance

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	mrand "math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// fdbNodes starts servers that share one store on the cluster.
func fdbNodes(t *testing.T, count int) []*Server {
	t.Helper()
	i := slices.IndexFunc(Engines, func(e Engine) bool { return e.Name == "fdb" })
	if i < 0 {
		t.Skip("no FoundationDB cluster to test on: FDB_CLUSTER_FILE is not set")
	}
	prefix := "SETTEE_FDB_PREFIX=test-settee/nodes/" + rand.Text()[:12]
	servers := make([]*Server, count)
	for n := range servers {
		s, err := Engines[i].StartWith(t.Context(), t.TempDir(), Options{Env: []string{prefix}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Kill)
		servers[n] = s
	}
	return servers
}

// partitionsByNode waits until each of some processes has as many partitions of the function as the
// plan gives it.
func partitionsByNode(c *client, function string, nodes int) {
	c.t.Helper()
	var last string
	begin := time.Now()
	for time.Since(begin) < time.Minute {
		crashResume(c) // the third kill in a row has paused it
		r := c.want(http.StatusOK, c.do("GET", "/_eventing/api/v1/stats/"+function+"?type=debug", ""))
		var stats struct {
			Debug struct {
				Partitions struct {
					All, Owned, Planned int
					ByNode              map[string]int `json:"by_node"`
				}
			} `json:"debug_stats"`
		}
		if err := json.Unmarshal([]byte(r.Body), &stats); err != nil {
			c.t.Fatalf("%v: %s", err, r.Body)
		}
		p := stats.Debug.Partitions
		if len(p.ByNode) == nodes && p.Owned == p.All && p.Planned == p.All {
			c.t.Logf("%s: %v after %.1f s", function, p.ByNode, time.Since(begin).Seconds())
			return
		}
		last = fmt.Sprintf("%+v", p)
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatalf("%s: the partitions do not settle on %d processes: %s", function, nodes, last)
}

// TestNodesShareFunctions deploys functions at one of three servers of a store, and kills one
// server after the other while writers write to all of them. Each server works on a share; in the
// end each effect and each timer is there once.
func TestNodesShareFunctions(t *testing.T) {
	const rounds, timers = 3, 600
	servers := fdbNodes(t, 3)
	c := clientFor(t, servers[0].Addr)
	crashDeploy(c)
	for _, f := range crashFunctions {
		partitionsByNode(c, f.name, len(servers))
	}
	var status struct {
		Nodes int `json:"num_eventing_nodes"`
	}
	c.decode(c.want(http.StatusOK, c.do("GET", "/_eventing/api/v1/status", "")), &status)
	if status.Nodes != len(servers) {
		t.Errorf("%d processes in the status instead of %d", status.Nodes, len(servers))
	}
	crashSetTimers(c, mrand.New(mrand.NewPCG(1, 0)), timers, rounds*5*time.Second)
	var writers []*crashEventWriter
	for n := range 2 * len(servers) {
		writers = append(writers, &crashEventWriter{name: fmt.Sprintf("w%d", n), base: "http://" + servers[n/2].Addr,
			written: map[string]bool{}, random: mrand.New(mrand.NewPCG(2, uint64(n))),
			http: &http.Client{Transport: &http.Transport{}}})
	}
	for round := range rounds {
		victim := servers[(round+1)%len(servers)]
		work, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for _, w := range writers {
			group.Go(func() { w.run(work, make(chan struct{}, 1)) })
		}
		time.Sleep(time.Second)
		victim.Kill()
		others := clientFor(t, servers[(round+2)%len(servers)].Addr)
		partitionsByNode(others, crashFunctions[0].name, len(servers)-1)
		stop()
		group.Wait()
		for _, w := range writers {
			if w.failure != nil {
				t.Fatalf("writer %s: %v", w.name, w.failure)
			}
		}
		if err := victim.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		partitionsByNode(others, crashFunctions[0].name, len(servers))
	}
	crashEventsDone(c, timers)
	if verifyCrashEvents(t, c, writers, timers) < rounds {
		t.Error("hardly a write got through: the test shows nothing")
	}
	if err := servers[2].Stop(); err != nil { // its partitions go to the others at once
		t.Error(err)
	}
	partitionsByNode(c, crashFunctions[0].name, len(servers)-1)
}
