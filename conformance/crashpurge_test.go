package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	purgeDocs    = 900
	purgeWriters = 3
	purgeCopy    = "crashpurgecopy"
	purgeKept    = "crashpurgekept"
)

// TestCrashPurge kills the server while deleted documents are purged as soon as they are deleted,
// by [couch_auto_purge_plugin], over and over. Writers delete documents, and make others with the
// same ids; indexes of every kind and a replication are behind. After each kill what is living is
// what the writers were told, and every index shows what one that is built from nothing shows, or
// what the documents say. At last no tombstone is left where they are due, and all where they are
// not; the replica has every leaf of its source, and besides only what the source once had.
func TestCrashPurge(t *testing.T) {
	rounds := max(2, crashRounds(t))
	s, c, dir, seed, random := crashBegin(t)
	beginPurges(c)
	writers := make([]*purgeWriter, purgeWriters)
	for i := range writers {
		writers[i] = &purgeWriter{
			crashWriter: newCrashWriter(i, c.base, rand.New(rand.NewPCG(seed, uint64(i+1)))),
			number:      i, living: map[string]purgeDoc{}, unsure: map[string]*purgeDoc{}, ever: map[string]string{},
		}
	}
	purged := 0
	for round := range rounds {
		purged += purgeRound(t, c, s, writers, random, round == 0)
		checkData(t, dir)
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		verifyLiving(t, c, writers)
		verifyViews(t, c, round, []string{"live", "steady"})
		verifyMango(t, c)
		if t.Failed() {
			t.Fatalf("in round %d of seed %d", round, seed)
		}
	}
	purged += awaitPurged(t, c)
	verifyLiving(t, c, writers)
	verifyViews(t, c, rounds, []string{"live", "steady"})
	verifyMango(t, c)
	verifyReplica(t, c, writers)
	verifyKept(t, c)
	t.Logf("%d kills, %d acknowledged requests, %d documents purged", rounds, purgeAcknowledged(writers), purged)
	if purged < rounds*purgeWriters {
		t.Error("hardly a document was purged: the test shows nothing")
	}
}

// beginPurges makes the databases and indexes, and lets everything that is deleted be purged at
// once, but what is in purgeKept. Conflicts whose winner lives are there from the beginning, and
// documents of which two leaves are deleted.
func beginPurges(c *client) {
	for _, db := range []string{crashViewDB, purgeCopy, purgeKept} {
		c.want(http.StatusCreated, c.do("PUT", "/"+db, ""))
	}
	c.want(http.StatusCreated, c.do("PUT", "/"+purgeKept+"/_auto_purge", `{"deleted_document_ttl":"30_days"}`))
	var leaves []string
	for i := range 20 {
		for _, deleted := range []bool{true, i%2 == 0} {
			hash := fmt.Sprintf("%030d%t", i, deleted)[:30] + fmt.Sprint(10+len(leaves)%90)
			leaves = append(leaves, fmt.Sprintf(`{"_id":"branches-%02d","_rev":"2-%s","_deleted":%t,`+
				`"_revisions":{"start":2,"ids":[%q,"%032d"]}}`, i, hash, deleted, hash, i))
		}
	}
	body := `{"new_edits":false,"docs":[` + strings.Join(leaves, ",") + `]}`
	c.want(http.StatusCreated, c.do("POST", "/"+crashViewDB+"/_bulk_docs", body))
	c.want(http.StatusCreated, c.do("POST", "/"+purgeKept+"/_bulk_docs", body))
	path := "/" + crashViewDB
	live := crashDesign("live", `"options":{"interactive":true},`)
	c.want(http.StatusCreated, c.do("PUT", path+"/_design/live", live))
	c.want(http.StatusCreated, c.do("PUT", path+"/_design/steady", crashDesign("steady", "")))
	for _, index := range purgeIndexes {
		c.want(http.StatusOK, c.do("POST", path+"/_index", index))
	}
	for _, setting := range [][2]string{
		{"dreyfus/max_limit", "100000"},
		{"couch_scanner/interval_sec", "1"}, {"couch_scanner/doc_write_rate_limit", "400"},
		{"couch_auto_purge_plugin/repeat", "1_sec"}, {"couch_auto_purge_plugin/jitter", "0_percent"},
		{"couch_auto_purge_plugin/max_batch_size", "25"}, {"couch_auto_purge_plugin/min_batch_size", "1"},
		{"couch_auto_purge_plugin/deleted_document_ttl", "-1_day"}, // also what was deleted in this second
		{"couch_scanner_plugins/couch_auto_purge_plugin", "true"},
	} {
		c.want(http.StatusOK, c.do("PUT", "/_node/_local/_config/"+setting[0], fmt.Sprintf("%q", setting[1])))
	}
}

// purgeDoc is a document as its writer knows it: the marker of its latest write, "" for a deletion.
type purgeDoc struct{ rev, marker string }

// purgeWriter deletes, changes and makes documents that no other one writes.
type purgeWriter struct {
	*crashWriter
	number int
	living map[string]purgeDoc  // by id
	unsure map[string]*purgeDoc // what was not acknowledged, by id
	ever   map[string]string    // ids by the markers that they had
	failed error
}

// run writes until the server is gone.
func (w *purgeWriter) run(ctx context.Context) {
	for ctx.Err() == nil && w.failed == nil {
		next := map[string]*purgeDoc{}
		var docs []any
		for range 20 {
			id := crashViewID(w.random.IntN(purgeDocs/purgeWriters)*purgeWriters + w.number)
			if next[id] != nil {
				continue
			}
			doc := map[string]any{"_id": id}
			before, lives := w.living[id]
			if lives {
				doc["_rev"] = before.rev
			}
			next[id] = &purgeDoc{}
			if lives && w.random.IntN(2) == 0 {
				doc["_deleted"] = true
			} else {
				marker := w.marker()
				next[id].marker, w.ever[marker] = marker, id
				k, n := w.random.IntN(1000), w.random.IntN(100)
				doc["k"], doc["n"], doc["marker"], doc["w"] = k, n, marker, fmt.Sprint("all k", k)
			}
			docs = append(docs, doc)
		}
		w.unsure = next
		status, answer, err := w.send(ctx, "POST", "/"+crashViewDB+"/_bulk_docs", encode(map[string]any{"docs": docs}))
		if err != nil || status == http.StatusServiceUnavailable {
			return
		}
		revs, err := acknowledged(status, answer)
		if w.failed = err; err != nil {
			return
		}
		for id, doc := range next {
			w.set(id, purgeDoc{revs[id], doc.marker})
		}
		w.unsure = nil
		w.acknowledged.Add(1)
	}
}

func (w *purgeWriter) set(id string, doc purgeDoc) {
	if delete(w.living, id); doc.marker != "" {
		w.living[id] = doc
	}
}

func purgeAcknowledged(writers []*purgeWriter) (n int64) {
	for _, w := range writers {
		n += w.acknowledged.Load()
	}
	return n
}

// purgeRound lets the writers work until something of theirs was purged, and for a moment more, and
// kills the server. It tells how many documents were purged since it was started. In a round a
// replication runs as well; in all others it is behind.
func purgeRound(
	t *testing.T, c *client, s *Server, writers []*purgeWriter, random *rand.Rand, replicates bool,
) (purged int) {
	t.Helper()
	work, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for _, w := range writers {
		group.Go(func() { w.run(work) })
	}
	if replicates {
		group.Go(func() { replicateOnce(s.Addr, crashViewDB, c.base+"/"+purgeCopy) })
	}
	enough := purgeAcknowledged(writers) + purgeWriters
	before := purgeCount(c)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if purgeAcknowledged(writers) >= enough && purgeCount(c) > before {
			break
		}
	}
	time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
	purged = purgeCount(c)
	s.Kill()
	stop()
	group.Wait()
	for _, w := range writers {
		if w.failed != nil {
			t.Fatalf("writer %s: %v", w.name, w.failed)
		}
	}
	return purged
}

// purgeCount is how many documents were purged since the server was started.
func purgeCount(c *client) int {
	var count struct{ Value int }
	c.decode(c.want(http.StatusOK, c.do("GET", "/_node/_local/_stats/auto_purge/purge", "")), &count)
	return count.Value
}

// purgeCounts are the counts of a database, and the rows of its feed by whether they are deletions.
func purgeCounts(c *client, db string) (docs, deleted, rows, deletions int) {
	var info struct {
		Docs    int `json:"doc_count"`
		Deleted int `json:"doc_del_count"`
	}
	c.decode(c.want(http.StatusOK, c.do("GET", "/"+db, "")), &info)
	var feed struct{ Results []struct{ Deleted bool } }
	c.decode(c.want(http.StatusOK, c.do("GET", "/"+db+"/_changes", "")), &feed)
	for _, row := range feed.Results {
		if rows++; row.Deleted {
			deletions++
		}
	}
	return info.Docs, info.Deleted, rows, deletions
}

// awaitPurged waits until nothing that was deleted is left, and tells how many documents were
// purged since the server was started.
func awaitPurged(t *testing.T, c *client) int {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		docs, deleted, rows, deletions := purgeCounts(c, crashViewDB)
		if deleted == 0 && deletions == 0 && rows == docs {
			return purgeCount(c)
		}
		if time.Now().After(end) {
			t.Fatalf("%d documents, %d deleted, %d rows, %d of them deletions", docs, deleted, rows, deletions)
		}
	}
}

// verifyLiving holds the documents against what the writers were told. What nobody was told is then
// as it is.
func verifyLiving(t *testing.T, c *client, writers []*purgeWriter) {
	t.Helper()
	var list struct {
		Rows []struct {
			ID  string
			Doc struct {
				Rev    string `json:"_rev"`
				Marker string
			}
		}
	}
	query := "/" + crashViewDB + "/_all_docs?include_docs=true&startkey=%22doc-%22&endkey=%22doc.%22"
	c.decode(c.want(http.StatusOK, c.do("GET", query, "")), &list)
	found := map[string]purgeDoc{}
	for _, row := range list.Rows {
		found[row.ID] = purgeDoc{row.Doc.Rev, row.Doc.Marker}
	}
	known := 0
	for _, w := range writers {
		for n := w.number; n < purgeDocs; n += purgeWriters {
			id := crashViewID(n)
			is, unsure := found[id], w.unsure[id]
			if is != w.living[id] && (unsure == nil || is.marker != unsure.marker) {
				t.Errorf("%s is %v instead of %v", id, is, w.living[id])
			}
			if w.set(id, is); is.marker != "" {
				known++
			}
		}
		w.unsure = nil
	}
	if known != len(list.Rows) {
		t.Errorf("%d documents, of which somebody knows %d", len(list.Rows), known)
	}
}

// purgeIndexes are indexes of Mango: of sorted values, of text, and over all fields.
var purgeIndexes = []string{
	`{"type":"json","index":{"fields":["k","n"]},"ddoc":"json","name":"json"}`,
	`{"type":"text","index":{"fields":[{"name":"w","type":"string"},{"name":"n","type":"number"}]},"ddoc":"text","name":"text"}`,
	`{"type":"auto","index":{},"ddoc":"auto","name":"auto"}`,
}

// verifyMango holds queries on indexes against the documents, the numbers of rows that were read
// from those that have a row for each document included.
func verifyMango(t *testing.T, c *client) {
	t.Helper()
	var list struct {
		Rows []struct {
			ID  string
			Doc struct{ K, N *int }
		}
	}
	c.decode(c.want(http.StatusOK, c.do("GET", "/"+crashViewDB+"/_all_docs?include_docs=true", "")), &list)
	var all, some []string
	for _, row := range list.Rows {
		if row.Doc.K == nil {
			continue
		}
		if all = append(all, row.ID); *row.Doc.N > 40 {
			some = append(some, row.ID)
		}
	}
	for _, query := range []struct {
		index, selector string
		want            []string
		rows            bool // one is read for each document
	}{
		{"json", `{"k":{"$gt":null},"n":{"$gt":null}}`, all, true},
		{"json", `{"k":{"$gte":0},"n":{"$gt":40}}`, some, false},
		{"text", `{"$text":"all"}`, all, false}, {"text", `{"n":{"$gt":40}}`, some, false},
		{"auto", `{"n":{"$gt":40}}`, some, true}, {"auto", `{"marker":{"$gt":""}}`, all, true},
	} {
		body := fmt.Sprintf(`{"selector":%s,"use_index":[%q,%q],"allow_fallback":false,"fields":["_id"],`+
			`"limit":100000,"execution_stats":true}`, query.selector, query.index, query.index)
		var answer struct {
			Docs []struct {
				ID string `json:"_id"`
			}
			Stats struct {
				Keys int `json:"total_keys_examined"`
			} `json:"execution_stats"`
		}
		c.decode(c.want(http.StatusOK, c.do("POST", "/"+crashViewDB+"/_find", body)), &answer)
		ids := make([]string, len(answer.Docs))
		for i, doc := range answer.Docs {
			ids[i] = doc.ID
		}
		slices.Sort(ids)
		if !slices.Equal(ids, query.want) || query.rows && answer.Stats.Keys != len(query.want) {
			t.Errorf("%s on %s: %d documents from %d rows instead of %d: %s", query.selector, query.index,
				len(ids), answer.Stats.Keys, len(query.want), firstDifference(fmt.Sprint(ids), fmt.Sprint(query.want)))
		}
	}
}

// verifyReplica replicates to the end. The replica was behind, so nobody has told it of what was
// deleted and purged since: it may have that still, and else has what its source has.
func verifyReplica(t *testing.T, c *client, writers []*purgeWriter) {
	t.Helper()
	body := fmt.Sprintf(`{"source":%q,"target":%q}`, crashViewDB, purgeCopy)
	if r := c.want(http.StatusOK, c.do("POST", "/_replicate", body)); !strings.Contains(r.Body, `"ok":true`) {
		t.Errorf("the replication ends with %s", r.Body)
	}
	source, target := leavesOf(t, c, crashViewDB), leavesOf(t, c, purgeCopy)
	for leaf, doc := range source {
		if target[leaf] != doc {
			t.Errorf("%s of the source is %.200s in the replica", leaf, target[leaf])
		}
	}
	for leaf, doc := range target {
		id, _, _ := strings.Cut(leaf, " ")
		_, marker, written := strings.Cut(doc, `"marker":"`)
		marker, _, _ = strings.Cut(marker, `"`)
		known := !written || slices.ContainsFunc(writers, func(w *purgeWriter) bool { return w.ever[marker] == id })
		if source[leaf] == "" && !known {
			t.Errorf("%s of the replica was never in the source: %.200s", leaf, doc)
		}
	}
}

// verifyKept: tombstones that are not due are all there, and deleted branches beside a winner that
// lives; of documents all of whose leaves were deleted nothing is left where they were due.
func verifyKept(t *testing.T, c *client) {
	t.Helper()
	if docs, deleted, rows, _ := purgeCounts(c, purgeKept); docs != 10 || deleted != 10 || rows != 20 {
		t.Errorf("%d documents, %d deleted, %d rows of what is kept", docs, deleted, rows)
	}
	for i := range 20 {
		id := fmt.Sprintf("branches-%02d", i)
		answer := c.do("GET", "/"+crashViewDB+"/"+id+"?open_revs=all", "")
		if i%2 == 0 && answer.Status != http.StatusNotFound {
			t.Errorf("%s: %d %s", id, answer.Status, answer.Body)
		}
		if i%2 == 1 && strings.Count(answer.Body, `"ok"`) != 2 {
			t.Errorf("%s has not two leaves: %s", id, answer.Body)
		}
	}
}
