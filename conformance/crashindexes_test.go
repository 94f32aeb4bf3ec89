package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	crashViewDB   = "crashviews"
	crashViewDocs = 4000
	// crashViewMap emits two rows for most documents, and one whose key moves when the document
	// changes.
	crashViewMap = `function (doc) { if (typeof doc.k === \"number\") { emit([\"k\", doc.k %% 10, doc.k], doc.n); if (doc.k %% 3) emit([\"n\", doc.n], 1); } } // %s`
)

// crashDesign is a design document with crashViewMap below several reduce functions. The name is in
// the source, so that each design document has indexes of its own.
func crashDesign(name, options string) string {
	source := fmt.Sprintf(crashViewMap, name)
	return `{` + options + crashSearch(name) + `"views":{"sum":{"map":"` + source + `","reduce":"_sum"},"stats":{"map":"` + source + `","reduce":"_stats"},` +
		`"js":{"map":"` + source + `","reduce":"function (keys, values) { return sum(values); }"}}}`
}

// TestCrashViews kills the server while it builds indexes and documents change, over and over.
// After each kill every index, of views and for full-text search, finished by the restarted server,
// must show what one that is built from nothing shows: one that was begun in that round, one that
// follows the changes from the beginning, and one that changes with the documents
// (options.interactive).
func TestCrashViews(t *testing.T) {
	rounds := crashRounds(t)
	s, c, dir, seed, random := crashBegin(t)
	c.want(http.StatusCreated, c.do("PUT", "/"+crashViewDB, ""))
	c.want(
		http.StatusCreated,
		c.do("PUT", "/"+crashViewDB+"/_design/live", crashDesign("live", `"options":{"interactive":true},`)),
	)
	for begin := 0; begin < crashViewDocs; begin += 1000 {
		c.want(
			http.StatusCreated,
			c.do("POST", "/"+crashViewDB+"/_bulk_docs", crashViewEdits(random, begin, 1000, nil)),
		)
	}
	c.want(http.StatusCreated, c.do("PUT", "/"+crashViewDB+"/_design/steady", crashDesign("steady", "")))
	unfinished := 0
	for round := range rounds {
		begun := fmt.Sprintf("begun%d", round)
		c.want(http.StatusCreated, c.do("PUT", "/"+crashViewDB+"/_design/"+begun, crashDesign(begun, "")))
		crashViewRound(t, c, s, random, begun)
		checkData(t, dir)
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if pendingUpdates(c, begun) > 0 {
			unfinished++
		}
		verifyViews(t, c, round, []string{"live", "steady", begun})
		if t.Failed() {
			t.Fatalf("in round %d of seed %d", round, seed)
		}
	}
	t.Logf("%d kills, %d of them in the middle of a first build", rounds, unfinished)
}

// crashViewRound lets indexes be built and documents change for a moment and kills the server.
func crashViewRound(t *testing.T, c *client, s *Server, random *rand.Rand, begun string) {
	t.Helper()
	work, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	send := func(method, path, body string) {
		request, err := http.NewRequestWithContext(work, method, c.base+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		request.Header.Set("Content-Type", "application/json")
		request.SetBasicAuth(AdminName, AdminPassword)
		if answer, err := http.DefaultClient.Do(request); err == nil { // the server is killed meanwhile
			_ = answer.Body.Close()
		}
	}
	for _, name := range []string{begun, "steady"} {
		for _, query := range []string{"_view/sum", "_search/text?q=all", "_nouveau/text?q=all"} {
			group.Go(func() { send("GET", "/"+crashViewDB+"/_design/"+name+"/"+query, "") })
		}
	}
	for writer := range 2 {
		edits := rand.New(rand.NewPCG(random.Uint64(), uint64(writer)))
		group.Go(func() {
			for work.Err() == nil {
				revs := c.currentRevs(work, edits.IntN(crashViewDocs), 50)
				send("POST", "/"+crashViewDB+"/_bulk_docs", crashViewEdits(edits, 0, 0, revs))
			}
		})
	}
	time.Sleep(time.Duration(20+random.IntN(1500)) * time.Millisecond)
	s.Kill()
	stop()
	group.Wait()
}

// crashViewID is the id of the n-th document.
func crashViewID(n int) string { return fmt.Sprintf("doc-%05d", n) }

// crashViewEdits is a request that creates count documents from begin on and changes or deletes
// those with a revision.
func crashViewEdits(random *rand.Rand, begin, count int, revs map[string]string) string {
	var docs []any
	for n := begin; n < begin+count; n++ {
		docs = append(docs, map[string]any{"_id": crashViewID(n), "k": random.IntN(1000), "n": random.IntN(100)})
	}
	for id, rev := range revs {
		doc := map[string]any{"_id": id, "_rev": rev, "k": random.IntN(1000), "n": random.IntN(100)}
		switch random.IntN(10) {
		case 0:
			doc = map[string]any{"_id": id, "_rev": rev, "_deleted": true}
		case 1:
			doc["k"] = "text"
		}
		docs = append(docs, doc)
	}
	return string(encode(map[string]any{"docs": docs}))
}

// currentRevs are the revisions of some documents from the n-th on; none when the server is gone.
func (c *client) currentRevs(ctx context.Context, n, count int) map[string]string {
	path := fmt.Sprintf("%s/%s/_all_docs?limit=%d&startkey=%%22%s%%22", c.base, crashViewDB, count, crashViewID(n))
	request, err := http.NewRequestWithContext(ctx, "GET", path, nil)
	if err != nil {
		return nil
	}
	request.SetBasicAuth(AdminName, AdminPassword)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	var list struct {
		Rows []struct {
			ID    string
			Value struct{ Rev string }
		}
	}
	revs := map[string]string{}
	if json.NewDecoder(answer.Body).Decode(&list) == nil {
		for _, row := range list.Rows {
			if strings.HasPrefix(row.ID, "doc-") {
				revs[row.ID] = row.Value.Rev
			}
		}
	}
	return revs
}

func pendingUpdates(c *client, design string) int {
	var info struct {
		Index struct {
			Pending struct{ Total int } `json:"updates_pending"`
		} `json:"view_index"`
	}
	c.decode(c.want(http.StatusOK, c.do("GET", "/"+crashViewDB+"/_design/"+design+"/_info", "")), &info)
	return info.Index.Pending.Total
}

// crashViewQueries are compared: all rows, counts and offsets, and every kind of reduce function
// over several ranges.
var crashViewQueries = []string{
	"sum?reduce=false", "sum?reduce=false&skip=2500&limit=3", "sum", "sum?group_level=2", "sum?group=true&startkey=[\"n\"]", "stats?group_level=1",
	"sum?startkey=[\"k\",2]&endkey=[\"k\",7,500]", "js", "js?group_level=2", "js?startkey=[\"k\",3,100]&endkey=[\"n\",50]",
}

// verifyViews compares the design documents' answers with those of one that is built now, and its
// sums with the documents.
func verifyViews(t *testing.T, c *client, round int, designs []string) {
	t.Helper()
	fresh := fmt.Sprintf("fresh%d", round)
	path := "/" + crashViewDB + "/_design/"
	c.want(http.StatusCreated, c.do("PUT", path+fresh, crashDesign(fresh, "")))
	escape := strings.NewReplacer(`"`, "%22", "[", "%5B", "]", "%5D")
	for _, query := range crashViewQueries {
		query = escape.Replace(query)
		want := c.want(http.StatusOK, c.do("GET", path+fresh+"/_view/"+query, ""))
		for _, name := range designs {
			got := c.want(http.StatusOK, c.do("GET", path+name+"/_view/"+query, ""))
			if string(got.Body) != string(want.Body) {
				t.Errorf(
					"%s/%s differs from a fresh build: %s",
					name,
					query,
					firstDifference(string(got.Body), string(want.Body)),
				)
			}
		}
		if query == "sum" {
			verifyViewSum(t, c, string(want.Body))
		}
	}
	verifySearches(t, c, fresh, designs)
	stays := func(name string) bool { return name == "live" || name == "steady" }
	for _, name := range slices.DeleteFunc(append(designs, fresh), stays) {
		etag := c.do("HEAD", path+name, "").Header.Get("ETag")
		c.want(http.StatusOK, c.do("DELETE", path+name+"?rev="+strings.Trim(etag, `"`), ""))
	}
	for _, of := range []string{"view", "search"} {
		path := "/" + crashViewDB + "/_" + of + "_cleanup"
		c.want(http.StatusAccepted, c.do("POST", path, "", "Content-Type", "application/json"))
	}
}

// verifyViewSum computes the sum of all rows from the documents.
func verifyViewSum(t *testing.T, c *client, answer string) {
	t.Helper()
	var list struct {
		Rows []struct{ Doc struct{ K, N any } }
	}
	c.decode(c.want(http.StatusOK, c.do("GET", "/"+crashViewDB+"/_all_docs?include_docs=true", "")), &list)
	sum := 0
	for _, row := range list.Rows {
		k, err := strconv.Atoi(fmt.Sprint(row.Doc.K))
		if err != nil {
			continue
		}
		n, err := strconv.Atoi(fmt.Sprint(row.Doc.N))
		if err != nil {
			t.Fatal(err)
		}
		if sum += n; k%3 != 0 {
			sum++
		}
	}
	if !strings.Contains(answer, fmt.Sprintf(`"value":%d}`, sum)) {
		t.Errorf("the sum is %d, the view has %s", sum, answer)
	}
}

// firstDifference shows where two texts part.
func firstDifference(got, want string) string {
	n := 0
	for n < len(got) && n < len(want) && got[n] == want[n] {
		n++
	}
	show := func(s string) string { return s[max(0, n-60):min(len(s), n+60)] }
	return fmt.Sprintf("at byte %d of %d and %d:\n…%s…\n…%s…", n, len(got), len(want), show(got), show(want))
}
