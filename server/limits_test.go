package server_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/verify"
	"github.com/settee-db/settee/views"
)

// newLimitedServer is a server as on FoundationDB, with all kinds of indexes.
func newLimitedServer(t *testing.T) *servertest.Server {
	t.Helper()
	engine := latencykv.New(memkv.New(), latencykv.Options{})
	store, err := storage.Open(t.Context(), storage.Options{KV: engine, Manual: true})
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	queue, err := jobs.Open(
		t.Context(),
		jobs.Options{KV: engine, Prefix: keyspace.JobsPrefix(), Exclusive: true, Log: slog.New(slog.DiscardHandler)},
	)
	require.NoError(t, err)
	t.Cleanup(func() { queue.Close() })
	pool := js.NewPool(js.Options{})
	t.Cleanup(pool.Close)
	v, err := views.Open(
		views.Options{
			Store:     store,
			KV:        engine,
			JS:        pool,
			Jobs:      queue,
			Languages: map[string]views.Language{mango.Language: mango.Views{}},
		},
	)
	require.NoError(t, err)
	t.Cleanup(func() { v.Close() })
	fields, err := allfields.New(
		allfields.Options{Store: store, Jobs: queue, Split: mango.SplitField, Limits: engine.Limits()},
	)
	require.NoError(t, err)
	s := servertest.Start(t, server.Options{Store: store, Views: v, JS: pool, AllFields: fields, Jobs: queue})
	t.Cleanup(func() { // before the others
		violations, err := verify.Check(context.Background(), engine, nil)
		require.NoError(t, err)
		require.Empty(t, violations)
		broken, err := views.Check(context.Background(), engine, store)
		require.NoError(t, err)
		require.Empty(t, broken)
		entries, err := allfields.Check(context.Background(), engine, store)
		require.NoError(t, err)
		require.Empty(t, entries)
	})
	return s
}

// limitedWrites is one line of the table: requests that write documents of a size.
type limitedWrites struct {
	name  string
	count int
	size  int
}

// row is a row of the answer to _bulk_docs.
type bulkRow struct{ ID, Rev, Error, Reason string }

// write sends documents, one by its own URL and several as _bulk_docs, and wants all of them
// stored.
func (l *limitedWrites) write(
	t *testing.T,
	s *servertest.Server,
	revs []string,
	body func(i int, rev string) string,
) []string {
	t.Helper()
	var docs []string
	for i := range l.count {
		rev := ""
		if revs != nil {
			rev = revs[i]
		}
		docs = append(docs, body(i, rev))
	}
	var rows []bulkRow
	if l.count == 1 {
		w := s.Do("PUT", "/db/"+l.name+"-0", docs[0])
		require.Less(t, w.Code, 300, w.Body.String())
		rows = make([]bulkRow, 1)
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &rows[0]))
	} else {
		w := s.Do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`)
		require.Equal(t, 201, w.Code, w.Body.String())
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &rows))
	}
	require.Len(t, rows, l.count)
	next := make([]string, l.count)
	for i, row := range rows {
		require.Empty(t, row.Error, "%s: %s", row.ID, row.Reason)
		next[i] = row.Rev
	}
	return next
}

// text is about size bytes of words, as many members as a document of that size may well have.
func (l *limitedWrites) text(i int, mark string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `"mark":%q,"n":%d`, mark, i)
	for n := 0; b.Len() < l.size && n < 40; n++ {
		fmt.Fprintf(&b, `,"field%02d":"%d %s"`, n, n, strings.Repeat(mark+" ", min(200, l.size)/40))
	}
	fmt.Fprintf(&b, `,"text":%q`, strings.Repeat("x", max(0, l.size-b.Len())))
	return b.String()
}

// run writes, changes, replicates, deletes and purges the documents.
func (l *limitedWrites) run(t *testing.T, s *servertest.Server) {
	id := func(i int) string { return fmt.Sprintf("%s-%d", l.name, i) }
	revs := l.write(
		t,
		s,
		nil,
		func(i int, _ string) string { return fmt.Sprintf(`{"_id":%q,%s}`, id(i), l.text(i, "new")) },
	)
	revs = l.write(t, s, revs, func(i int, rev string) string {
		return fmt.Sprintf(`{"_id":%q,"_rev":%q,%s}`, id(i), rev, l.text(i, "update"))
	})
	var replicated []string
	purged := map[string][]string{}
	for i := range l.count {
		rev := fmt.Sprintf("3-%032x", i)
		_, parent, _ := strings.Cut(revs[i], "-")
		replicated = append(
			replicated,
			fmt.Sprintf(
				`{"_id":%q,"_revisions":{"start":3,"ids":[%q,%q]},%s}`,
				id(i),
				rev[2:],
				parent,
				l.text(i, "replicated"),
			),
		)
		revs[i] = rev
	}
	w := s.Do("POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[`+strings.Join(replicated, ",")+`]}`)
	servertest.Expect(t, w, 201, "[]\n")
	revs = l.write(
		t,
		s,
		revs,
		func(i int, rev string) string { return fmt.Sprintf(`{"_id":%q,"_rev":%q,"_deleted":true}`, id(i), rev) },
	)
	for i := range min(l.count, 100) { // purge/max_document_id_number
		purged[id(i)] = []string{revs[i]}
	}
	request, _ := json.Marshal(purged)
	w = s.Do("POST", "/db/_purge", string(request))
	require.Equal(t, 201, w.Code, w.Body.String())
	require.Equal(t, len(purged), strings.Count(w.Body.String(), `["4-`))
}

// Every way to write, with documents of all sizes and every kind of index, works within
// FoundationDB's limits. Combinations that go through no other code are left out.
func TestWritesWithinLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 200 MB, too much for -short; the whole suite runs it")
	}
	const below8MB = 8_000_000 - 200
	none := ""
	sizes := []limitedWrites{
		{"small", 1, 1000},
		{"some", 150, 1000},
		{"many", 1000, 1000},
		{"large", 1, 1_000_000},
		{"several", 8, 1_000_000},
		{"huge", 1, below8MB},
	}
	for _, c := range []struct {
		name, design string
		sizes        []limitedWrites
	}{
		{"no index", none, sizes},
		{"view", `{"views":{"v":{"map":"function(doc){ emit(doc.mark, doc.text); }"}}}`, []limitedWrites{sizes[1], sizes[5]}},
		{"interactive", `{"options":{"interactive":true},"views":{"v":{"map":"function(doc){ emit(doc.mark, doc.field01); }"}}}`,
			[]limitedWrites{sizes[1], sizes[5]}},
		{"validated", `{"validate_doc_update":"function(doc, old){ if (old && !doc._deleted && doc.mark === old.mark) throw({forbidden: 'same'}); }"}`,
			[]limitedWrites{sizes[1], sizes[5]}},
		{"JSON index", `{"language":"query","views":{"v":{"map":{"fields":{"text":"asc"},"partial_filter_selector":{}},"reduce":"_count","options":{"def":{"fields":["text"]}}}}}`,
			[]limitedWrites{sizes[0], sizes[1], sizes[5]}},
		{"all fields", `{"language":"query","auto":{"all":{}}}`, []limitedWrites{sizes[1], sizes[4], sizes[5]}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newLimitedServer(t)
			require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
			if c.design != none {
				w := s.Do("PUT", "/db/_design/d", c.design)
				require.Equal(t, 201, w.Code, w.Body.String())
			}
			if strings.Contains(c.design, `"v":{`) {
				w := s.Do("GET", "/db/_design/d/_view/v?limit=0&reduce=false", "")
				require.Equal(t, 200, w.Code, w.Body.String())
			}
			for i := range c.sizes {
				c.sizes[i].run(t, s)
			}
		})
	}
}

// What is no part of an index: local documents, attachments in the document, and documents that do
// not fit.
func TestOtherWritesWithinLimits(t *testing.T) {
	s := newLimitedServer(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	for _, size := range []int{1000, 1_000_000, 7_900_000} {
		body := fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", size))
		for _, rev := range []string{"0-1", "0-1"} {
			w := s.Do("PUT", fmt.Sprintf("/db/_local/l%d", size), body)
			require.Equal(t, 201, w.Code, w.Body.String())
			require.Contains(t, w.Body.String(), rev)
		}
		w := s.Do("DELETE", fmt.Sprintf("/db/_local/l%d?rev=0-1", size), "")
		require.Equal(t, 200, w.Code, w.Body.String())
		data := base64.StdEncoding.EncodeToString(make([]byte, 2*size))
		w = s.Do(
			"POST",
			"/db/_bulk_docs",
			fmt.Sprintf(
				`{"docs":[{"_id":"a%d","_attachments":{"f":{"content_type":"image/png","data":%q}}},{"_id":"b%d"}]}`,
				size,
				data,
				size,
			),
		)
		require.Equal(t, 201, w.Code, w.Body.String())
		require.NotContains(t, w.Body.String(), "error")
	}
	long := strings.Repeat("i", 9_990)
	w := s.Do(
		"POST",
		"/db/_bulk_docs",
		fmt.Sprintf(`{"docs":[{"_id":"c"},{"_id":%q},{"_id":"d"},{"_id":"_local/%s"}]}`, long, long),
	)
	require.Equal(t, 201, w.Code)
	var rows []bulkRow
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &rows))
	require.Equal(
		t,
		[]string{"", "illegal_docid", "", "illegal_docid"},
		[]string{rows[0].Error, rows[1].Error, rows[2].Error, rows[3].Error},
	)
}
