package conformance

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestCrashOfBuilds kills the server while it builds indexes over documents that change, over and over on the same data. In the end the
// indexes must be equal to fresh ones.
func TestCrashOfBuilds(t *testing.T) {
	rounds := crashRounds(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	s, err := Engines[0].Start(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Kill() }()
	c := clientFor(t, s.Addr)
	c.want(http.StatusCreated, c.do("PUT", "/"+crashDB, ""))
	written := 0
	write := func(n int) {
		var docs []string
		for range n {
			docs = append(docs, fmt.Sprintf(`{"_id":"d%06d","k":%d,"v":%d}`, written, random.IntN(50), random.IntN(9)))
			written++
		}
		c.want(http.StatusCreated, c.do("POST", "/"+crashDB+"/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`))
	}
	const views = `{"views":{
		"sum": {"map": "function(doc) { emit(doc.k, doc.v); emit([doc.k, doc.v], 1); }%[1]s", "reduce": "_sum"},
		"js":  {"map": "function(doc) { emit(doc.k, doc.v); }%[1]s", "reduce": "function(k, v, r) { return sum(v); }"}}}`
	write(3000)
	c.want(http.StatusCreated, c.do("PUT", "/"+crashDB+"/_design/d", fmt.Sprintf(views, "")))
	for range rounds {
		write(random.IntN(1500))
		build, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/"+crashDB+"/_design/d/_view/sum", nil)
		if err != nil {
			t.Fatal(err)
		}
		build.SetBasicAuth(AdminName, AdminPassword)
		go func() { // fails when the server dies
			if r, err := http.DefaultClient.Do(build); err == nil {
				_ = r.Body.Close()
			}
		}()
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		s.Kill()
		checkData(t, dir)
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c.want(http.StatusCreated, c.do("PUT", "/"+crashDB+"/_design/fresh", fmt.Sprintf(views, " ")))
	for _, query := range []string{"sum?reduce=false", "sum", "sum?group_level=1", "js", "js?group=true", "js?reduce=false&startkey=25"} {
		got := c.want(http.StatusOK, c.do("GET", "/"+crashDB+"/_design/d/_view/"+query, "")).Body
		want := c.want(http.StatusOK, c.do("GET", "/"+crashDB+"/_design/fresh/_view/"+query, "")).Body
		if got != want {
			t.Errorf("%s of seed %d:\n got %.500s\nwant %.500s", query, seed, got, want)
		}
	}
}
