package fulltext_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/fulltext"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// nouveauRead is an answer of _nouveau as clients read it.
type nouveauRead struct {
	Bookmark string
	Hits     []any
	Counts   any
	Ranges   any
	Total    int `json:"total_hits"`
}

// A limit is any positive number. An answer that takes several searches has what one search finds,
// whichever of its reads finds its snapshot too old, and its bookmark goes on behind its end.
func TestNouveauAnswersInParts(t *testing.T) {
	const docs = 40
	var mu sync.Mutex // the server reads beside requests, too
	armed, base, view, read, failed := false, 0, 0, 0, false
	engine := faultkv.New(memkv.New(), faultkv.Plan{TooOld: func(r faultkv.Read) bool {
		mu.Lock()
		defer mu.Unlock()
		if !armed || r.Update {
			return false
		}
		if base == 0 {
			base = r.Call
		}
		fails := r.Call-base == view && r.N == read
		failed = failed || fails
		return fails
	}})
	store := servertest.OpenStore(t, engine)
	// Without memory for blocks of segments each search reads the store.
	indexes := servertest.OpenSearch(t, search.Options{Store: store, KV: engine, Memory: 1})
	s := servertest.Start(t, server.Options{Store: store, Search: indexes,
		Views: servertest.OpenViews(t, store, engine)})
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	for i := range docs {
		body := fmt.Sprintf(`{"name":"%s","price":%d,"place":"%s","long":"%s"}`,
			strings.Repeat("fruit ", 1+i%4), i%5, strings.Repeat("x", i%3), strings.Repeat("y", 2000*(i%2)))
		require.Equal(t, 201, s.Do("PUT", fmt.Sprintf("/db/f%02d", i), body).Code)
	}
	s.PutDesign("d", `{"language":"query","nouveau":{"fruit":{"default_analyzer":"keyword","index":{
		"fields":[{"name":"name","type":"text"},{"name":"price","type":"number"},{"name":"place","type":"string"}]}}}}`)
	ask := func(body string) (answer nouveauRead) {
		t.Helper()
		w := s.Do("POST", "/db/_design/d/_nouveau/fruit", body)
		require.Equal(t, 200, w.Code, w.Body.String())
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		return answer
	}
	fails := 0
	for _, options := range []string{
		`"q":"place_3astring:x"`, `"q":"*:*","include_docs":true`, `"q":"*:*","sort":["-price_3anumber"]`,
		`"q":"*:*","sort":["place_3astring","_id"],"counts":["place_3astring"],` +
			`"ranges":{"price_3anumber":[{"label":"low","max":2}]}`,
	} {
		whole := ask("{" + options + `,"limit":40}`)
		docs := whole.Total
		require.Len(t, whole.Hits, docs)
		for _, limit := range []int64{6, 7, 8, 14, 39, 40, 200_000, 1 << 40} {
			restore := fulltext.SetHitsTogether(7)
			parts := ask(fmt.Sprintf(`{%s,"limit":%d}`, options, limit))
			rest := ask(fmt.Sprintf(`{%s,"limit":%d,"bookmark":%q}`, options, limit, parts.Bookmark))
			restore()
			want := whole
			want.Hits, want.Bookmark = whole.Hits[:min(limit, int64(docs))], parts.Bookmark
			require.Equal(t, want, parts, "%s %d", options, limit)
			require.Equal(t, append([]any{}, whole.Hits[len(want.Hits):min(2*len(want.Hits), docs)]...), rest.Hits)
		}
		restore := fulltext.SetHitsTogether(7)
		for inView := range 12 {
			for ofRead := 1; ; ofRead++ {
				mu.Lock()
				armed, base, view, read, failed = true, 0, inView, ofRead, false
				mu.Unlock()
				parts := ask("{" + options + `,"limit":200000}`)
				mu.Lock()
				armed = false
				met := failed
				mu.Unlock()
				if !met {
					break
				}
				fails++
				require.Equal(t, whole.Hits, parts.Hits, "%s: read %d of view %d fails", options, ofRead, inView)
				require.Equal(t, whole.Counts, parts.Counts)
			}
		}
		restore()
	}
	require.Greater(t, fails, 100)
}
