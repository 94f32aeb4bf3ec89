package fulltext_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/jobs/jobstest"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/views"
)

// held is what makes fields of documents, in JavaScript and for Mango: not before it is free. A
// process whose builds stand still there until the next one has begun is one that was killed.
type held struct {
	free  chan struct{}
	began sync.Map // the sources of functions that were called, and Mango's language
}

func newHeld() *held { return &held{free: make(chan struct{})} }

// all reports whether so many functions were called.
func (h *held) all(functions int) bool {
	h.began.Range(func(any, any) bool { functions--; return true })
	return functions == 0
}

func (*held) CheckMap(context.Context, string, string) error { return nil }

func (h *held) Map(_ context.Context, p *js.MapProgram, docs [][]byte) ([]js.DocResult, error) {
	h.began.Store(p.Maps[0], true)
	<-h.free
	key := `["default","word"]`
	if p.Maps[0] == "nouveau" {
		key = `["text","default","word"]`
	}
	results := make([]js.DocResult, len(docs))
	for i := range results {
		results[i] = js.DocResult{{Rows: []js.Emitted{{Key: []byte(key), Value: []byte("{}")}}}}
	}
	return results, nil
}

// Compile makes it the language of Mango's text indexes, whose documents have one word each.
func (h *held) Compile(segment.Kind, ejson.Value) (search.Mapper, error) { return heldMapper{h}, nil }

type heldMapper struct{ *held }

func (m heldMapper) Map(ejson.Value) ([]segment.Value, bool, error) {
	m.began.Store(mangoLanguage, true)
	<-m.free
	return []segment.Value{{Name: "$default", Text: "word", Analyzed: true}}, true, nil
}

func (m heldMapper) Size() int { return 0 }

const mangoLanguage = "query"

// startPausing starts a server on an engine as the next process that has it to itself.
func startPausing(
	t *testing.T, engine kv.Store, h *held, log *slog.Logger,
) (*servertest.Server, *jobs.Queue) {
	queue, err := jobs.Open(t.Context(), jobs.Options{
		KV: engine, Prefix: keyspace.JobsPrefix(), Exclusive: true, Log: log,
	})
	require.NoError(t, err)
	store := servertest.OpenStore(t, engine)
	v, err := views.Open(views.Options{Store: store, KV: engine, Jobs: queue})
	require.NoError(t, err)
	indexes := search.New(search.Options{
		Store: store, KV: engine, JS: h, Jobs: queue,
		Languages: map[string]search.Language{mangoLanguage: h},
	})
	require.NoError(t, indexes.Start())
	t.Cleanup(func() {
		require.NoError(t, queue.Close())
		require.NoError(t, v.Close())
		indexes.Close()
	})
	queue.Start()
	s := servertest.Start(t, server.Options{Store: store, Views: v, Search: indexes, Jobs: queue})
	return s, queue
}

const whyPaused = "the server ended without a shutdown three times in a row while it ran"

// TestPausedBuilds: builds of full-text indexes, Mango's among them, that ran at three ends of the
// server are paused. Queries are refused with the reason; the information of each index, the log
// and _active_tasks say it. They go on after a compaction.
func TestPausedBuilds(t *testing.T) {
	engine := memkv.New()
	queries := [][2]string{
		{"/db/_design/d/_search/s?q=word", ""}, {"/db/_design/d/_nouveau/n?q=word", ""},
		{"/db/_find", `{"selector":{"$text":"word"}}`},
	}
	ask := func(s *servertest.Server, n int) (int, string) {
		if queries[n][1] == "" {
			return get(t, s, "GET", queries[n][0], "")
		}
		return get(t, s, "POST", queries[n][0], queries[n][1])
	}
	var asked sync.WaitGroup
	defer asked.Wait()
	for end := range 3 {
		dead := newHeld()
		defer close(dead.free)
		s, _ := startPausing(t, engine, dead, slog.New(slog.DiscardHandler))
		if end == 0 {
			prepareBuilds(t, s)
		}
		for n := range queries {
			asked.Go(func() { ask(s, n) })
		}
		require.Eventually(t, func() bool { return dead.all(len(queries)) }, 60e9, 1e7)
	}

	alive := newHeld()
	close(alive.free)
	var log bytes.Buffer
	s, _ := startPausing(t, engine, alive, slog.New(slog.NewTextHandler(&log, nil)))
	infos := []string{"/db/_design/d/_search_info/s", "/db/_design/d/_nouveau_info/n", "/db/_design/m/_search_info/m"}
	told := func(path string) bool { return strings.Contains(s.Do("GET", path, "").Body.String(), whyPaused) }
	for n, path := range infos {
		require.False(t, told(path), path)
		status, body := ask(s, n)
		require.Equal(t, 503, status, body)
		require.Contains(t, body, "The build of this index is paused: "+whyPaused)
		_, body = get(t, s, "GET", path, "")
		require.Contains(t, body, `,"state":"paused","reason":"`+whyPaused+`"}}`)
	}
	require.Equal(t, len(queries), strings.Count(log.String(), whyPaused), log.String())
	_, tasks := get(t, s, "GET", "/_active_tasks", "")
	for _, index := range []string{`"_design/d","index":"s"`, `"_design/d","index":"n"`, `"_design/m","index":"m"`} {
		require.Regexp(t, `"database":"db","design_document":`+index+`,"job":"search_build",[^}]*"reason":"`+whyPaused+
			`",[^}]*"state":"paused","type":"search_indexer"`, tasks)
	}

	require.Equal(t, 202, s.Do("POST", "/db/_compact/d", "{}").Code)
	for n, path := range infos {
		status, body := ask(s, n)
		require.Equal(t, 200, status, body)
		require.False(t, told(path), path)
	}
	require.Equal(t, "[]", strings.TrimSpace(s.Do("GET", "/_active_tasks", "").Body.String()))
}

// prepareBuilds makes a database with so many documents that builds of its indexes are jobs.
func prepareBuilds(t *testing.T, s *servertest.Server) {
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	var docs []string
	for n := range 501 {
		docs = append(docs, fmt.Sprintf(`{"_id":"%d","a":"word"}`, n))
	}
	require.Equal(t, 201, s.Do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).Code)
	s.PutDesign("d", `{"indexes":{"s":{"index":"search"}},"nouveau":{"n":{"index":"nouveau"}}}`)
	w := s.Do("POST", "/db/_index", `{"index":{},"type":"text","ddoc":"m","name":"m"}`)
	require.Equal(t, 200, w.Code, w.Body.String())
}

// TestPausedMerges: _search_info and _nouveau_info say that merges of an index are paused, and why;
// what they say of other indexes does not change.
func TestPausedMerges(t *testing.T) {
	engine := memkv.New()
	merges := []jobs.Spec{{Type: "search_merge", ID: "db\x001"}, {Type: "search_merge", ID: "db\x002"}}
	jobstest.EndsWhile(t, engine, keyspace.JobsPrefix(), "search_merge", true, merges...)
	alive := newHeld()
	close(alive.free)
	s, queue := startPausing(t, engine, alive, slog.New(slog.DiscardHandler))
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	s.PutDesign("d", `{"indexes":{"1":{"index":"search"},"3":{"index":"other"}},"nouveau":{"2":{"index":"nouveau"}}}`)
	paused := `,"merges":{"state":"paused","reason":"` + whyPaused + `"}}}`
	for _, index := range []struct{ query, info string }{ // in this order they get their numbers
		{"_search/1", "_search_info/1"}, {"_nouveau/2", "_nouveau_info/2"}, {"_search/3", "_search_info/3"},
	} {
		status, body := get(t, s, "GET", "/db/_design/d/"+index.query+"?q="+url.QueryEscape("*:*"), "")
		require.Equal(t, 200, status, body)
		_, body = get(t, s, "GET", "/db/_design/d/"+index.info, "")
		require.NotContains(t, body, "paused")
		if strings.HasSuffix(index.info, "3") {
			continue
		}
		spec := merges[0]
		merges = merges[1:]
		require.ErrorIs(t, queue.Do(t.Context(), spec, func(context.Context) error { return nil }), jobs.ErrPaused)
		_, body = get(t, s, "GET", "/db/_design/d/"+index.info, "")
		require.Contains(t, body, paused)
	}
	require.NotContains(t, s.Do("GET", "/db/_design/d/_search_info/3", "").Body.String(), "paused")
}
