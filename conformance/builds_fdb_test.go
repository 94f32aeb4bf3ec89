//go:build fdb

package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestNodesBuildOneIndex: an index of 40,000 documents is built by one, two and four servers of a
// store, in pieces where there are several; of the last four one is killed in the middle. How long
// each build takes is logged.
func TestNodesBuildOneIndex(t *testing.T) {
	const documents, together = 40_000, 1000
	for _, build := range []struct {
		nodes int
		kill  bool
	}{{1, false}, {2, false}, {4, false}, {4, true}} {
		t.Run(fmt.Sprintf("%d nodes, killed %v", build.nodes, build.kill), func(t *testing.T) {
			servers := fdbNodes(t, build.nodes)
			c := clientFor(t, servers[0].Addr)
			db := "/" + c.newDatabase("")
			for from := 0; from < documents; from += together {
				var docs []string
				for i := range together {
					docs = append(docs, fmt.Sprintf(`{"_id":"doc%06d","n":%d}`, from+i, from+i))
				}
				c.want(http.StatusCreated, c.do("POST", db+"/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`))
			}
			c.want(http.StatusCreated, c.do("PUT", db+"/_design/d",
				`{"views":{"v":{"map":"function(doc) { emit(doc.n, 1); }","reduce":"_sum"}}}`))
			killed := make(chan struct{})
			go func() {
				defer close(killed)
				if build.kill {
					time.Sleep(500 * time.Millisecond)
					servers[build.nodes-1].Kill()
				}
			}()
			began := time.Now()
			r := c.want(http.StatusOK, c.do("GET", db+"/_design/d/_view/v", ""))
			t.Logf("built after %.1f s", time.Since(began).Seconds())
			<-killed
			if !strings.Contains(r.Body, fmt.Sprintf(`"value":%d`, documents)) {
				t.Errorf("the sum of the rows: %s", r.Body)
			}
			builders := 0
			for n, s := range servers {
				if build.kill && n == build.nodes-1 {
					continue
				}
				own := clientFor(t, s.Addr)
				r := own.want(http.StatusOK, own.do("GET", db+"/_design/d/_view/v?reduce=false&limit=1&skip=39999", ""))
				if !strings.Contains(r.Body, `"total_rows":40000`) || !strings.Contains(r.Body, `"key":39999`) {
					t.Errorf("rows at server %d: %s", n, r.Body)
				}
				metrics := own.want(http.StatusOK, own.do("GET", "/_node/_local/_prometheus", ""))
				if strings.Contains(metrics.Body, `settee_jobs_ended_total{outcome="done",type="view-piece"}`) {
					builders++
				}
			}
			if (build.nodes > 1) != (builders > 1) {
				t.Errorf("%d of %d servers built pieces", builders, build.nodes)
			}
		})
	}
}
