package find_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/lastuse"
)

// TestIndexUse: each kind of index is used by the queries that read it, and by nothing else.
func TestIndexUse(t *testing.T) {
	engine := memkv.New()
	store := servertest.OpenStore(t, engine)
	queue, err := jobs.Open(t.Context(), jobs.Options{KV: engine, Prefix: keyspace.JobsPrefix(), Exclusive: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, queue.Close()) })
	all, err := allfields.New(allfields.Options{Store: store, Jobs: queue, Split: mango.SplitField})
	require.NoError(t, err)
	uses := lastuse.New(lastuse.Options{Store: store, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(uses.Close)
	s := servertest.Start(t, server.Options{
		Store: store, Views: servertest.OpenViews(t, store, engine), AllFields: all, Uses: uses,
		Search: servertest.OpenSearch(t, search.Options{Store: store, KV: engine}),
	})
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/db", "").Code)
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/db/one", `{"a":1,"b":"word"}`).Code)
	for _, index := range []string{
		`{"index":{"fields":["a"]},"ddoc":"json","name":"a"}`,
		`{"index":{},"type":"auto","ddoc":"auto","name":"all"}`,
		`{"index":{"fields":[{"name":"b","type":"string"}]},"type":"text","ddoc":"text","name":"b"}`,
	} {
		w := s.Do("POST", "/db/_index", index)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	}
	list := func() (used []string) {
		var answer struct {
			Designs []struct {
				Ddoc    string
				Changed time.Time
				Indexes []struct {
					Type, Name string
					LastUsed   time.Time `json:"last_used"`
				}
			}
		}
		w := s.Do("GET", "/db/_index_use", "")
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer), w.Body.String())
		require.Len(t, answer.Designs, 3)
		for _, d := range answer.Designs {
			require.WithinDuration(t, time.Now(), d.Changed, time.Hour)
			for _, ix := range d.Indexes {
				require.WithinDuration(t, time.Now(), ix.LastUsed, time.Hour)
				used = append(used, d.Ddoc+" "+ix.Type+" "+ix.Name)
			}
		}
		return used
	}
	ask := func(path, query string) {
		w := s.Do("POST", "/db/"+path, query)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	}
	ask("_explain", `{"selector":{"a":1}}`)
	ask("_explain", `{"selector":{"$text":"word"}}`)
	require.Equal(t, http.StatusOK, s.Do("GET", "/db/_index", "").Code)
	require.Equal(t, http.StatusOK, s.Do("GET", "/db/_design/json/_info", "").Code)
	require.Empty(t, list())
	const text, auto, asJSON = "_design/text search b", "_design/auto auto all", "_design/json view a"
	for _, q := range []struct {
		path, query string
		used        []string
	}{
		{"_find", `{"selector":{"$text":"word"}}`, []string{text}},
		{"_find", `{"selector":{"a":{"$gt":0}},"use_index":"auto"}`, []string{auto, text}},
		{"_find", `{"selector":{"a":{"$gt":0}},"use_index":"json"}`, []string{auto, asJSON, text}},
	} {
		ask(q.path, q.query)
		// Uses are written in their order.
		require.Eventually(t, func() bool { return len(list()) == len(q.used) }, time.Minute, time.Millisecond, q.query)
		require.Equal(t, q.used, list(), q.query)
	}
	require.Equal(t, http.StatusNotFound, s.Do("GET", "/none/_index_use", "").Code)
}

// TestScans: queries that read documents one after the other are counted by their fields for
// administrators, and those that an index serves are not.
func TestScans(t *testing.T) {
	s := servertest.NewWithUsers(t, 1) // with /db and a document
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/other", "").Code)
	for range 2 {
		require.Equal(t, http.StatusCreated, s.Do("POST", "/db", `{"a":1,"b":1,"c":1}`).Code)
	}
	require.Equal(t, http.StatusOK, s.Do("POST", "/db/_index", `{"index":{"fields":["c"]}}`).Code)
	long := strings.Repeat("x", 1100)
	for _, query := range []string{
		`{"selector":{"b":1,"$or":[{"a":2},{"b":1}]}}`, `{"selector":{"a":{"$gt":5},"b":1}}`, `{"selector":{"b":1}}`,
		`{"selector":{"c":1}}`, `{"selector":{"_id":{"$gt":null}}}`, `{"selector":{"` + long + `":1}}`,
	} {
		require.Equal(t, http.StatusOK, s.Do("POST", "/db/_find", query).Code, query)
	}
	require.JSONEq(t, `[{"fields":["a","b"],"queries":2,"docs_examined":8,"results_returned":2},
		{"fields":["b"],"queries":1,"docs_examined":4,"results_returned":2}]`,
		scansOf(t, s.Do("GET", "/db/_index_use", "").Body), "the index is a document, too")
	servertest.Expect(t, s.Do("GET", "/db/_index_use", "", servertest.As("joe0")...), 200, `{"designs":[]}`+"\n")
	require.JSONEq(t, `[]`, scansOf(t, s.Do("GET", "/other/_index_use", "").Body))
	for i := range 300 {
		require.Equal(t, http.StatusOK, s.Do("POST", "/db/_find", fmt.Sprintf(`{"selector":{"n%d":1}}`, i)).Code)
	}
	var kept []json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(scansOf(t, s.Do("GET", "/db/_index_use", "").Body)), &kept))
	require.Len(t, kept, 256)
}

// scansOf is the member scans of an answer.
func scansOf(t *testing.T, body io.Reader) string {
	t.Helper()
	var answer struct{ Scans json.RawMessage }
	require.NoError(t, json.NewDecoder(body).Decode(&answer))
	return string(answer.Scans)
}
