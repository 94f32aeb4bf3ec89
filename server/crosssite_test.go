package server_test

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/functions"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// What a page of another site can make a browser send without asking first changes nothing, on any
// row of the table.

// noEngine runs no event functions: what asks it fails.
type noEngine struct{ functions.Engine }

// crossSiteServer has a database of documents and views, an event function, and all rows.
func crossSiteServer(t *testing.T) (*servertest.Server, kv.Store) {
	engine := memkv.New()
	store, err := storage.Open(t.Context(), storage.Options{KV: engine, Manual: true}) // nothing tidies up meanwhile
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	s := servertest.Start(t, server.Options{
		Store: store, Views: servertest.OpenViews(t, store, engine),
		Functions: registry.New(engine, registry.Hooks{}), FunctionEngine: noEngine{},
	})
	s.StopFollowers()
	s.PutViews("")
	return s, engine
}

// stored is everything in the store but what reading writes: indexes, the jobs that build them,
// signs of life.
func stored(t *testing.T, engine kv.Store) map[string]string {
	all := map[string]string{}
	require.NoError(t, engine.View(t.Context(), func(tx kv.ReadTx) error {
		it := tx.Range(nil, []byte{0xff}, kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			name := keyspace.KeyName(it.Key())
			if name != "jobs" && name != "nodes" && !strings.Contains(name, ", views") {
				all[string(it.Key())] = string(it.Value())
			}
		}
		return it.Err()
	}))
	return all
}

// changed are the keys that differ, in words.
func changed(before, after map[string]string) []string {
	names := []string{}
	for key, value := range after {
		if old, ok := before[key]; !ok || old != value {
			names = append(names, keyspace.KeyName([]byte(key)))
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			names = append(names, keyspace.KeyName([]byte(key))+" is gone")
		}
	}
	return names
}

// bodies are what the rows read that take one by POST; the others get {}.
var bodies = map[string]string{
	"_find": `{"selector":{"k":1}}`, "_explain": `{"selector":{"k":1}}`, "_distinct": `{"field":"k"}`,
	"_aggregate": `{"values":{"n":{"$count":true}}}`,
	"queries":    `{"queries":[{}]}`, "_dbs_info": `{"keys":["db"]}`, "_bulk_get": `{"docs":[{"id":"d1"}]}`,
	"_revs_diff": `{"d1":["1-a"]}`, "_missing_revs": `{"d1":["1-a"]}`,
}

// rowTarget is a path of a row that is there, as far as there is one.
func rowTarget(r *call.Route) string {
	target := strings.NewReplacer("{db}", "db", "{node}", "_local", "{name}", "d", "{view}", "m", "{id}", "d1",
		"{rest...}", "x", "{profile}", "heap").Replace(r.Pattern)
	if strings.HasPrefix(r.Pattern, "/{db}/_changes") {
		target += "?feed=normal"
	}
	return strings.NewReplacer("{", "", "}", "", "...", "").Replace(target)
}

// TestOtherSitesChangeNothing walks the table: GET and HEAD change nothing, nor does POST on rows
// that say that they read; POST on all others is refused when a browser says that a page of another
// site sends it, in each way in which browsers say so, with each Content-Type that needs no
// question.
func TestOtherSitesChangeNothing(t *testing.T) {
	s, engine := crossSiteServer(t)
	before := stored(t, engine)
	settings := s.Config.All()
	said := [][]string{
		{"Origin", "http://evil.example"}, {"Origin", "null"}, {"Origin", "http://example.com:8080"},
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Referer", "http://evil.example/page"},
		{"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site", "Referer", "http://example.com/"},
	}
	kinds := []string{"", "text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded",
		"Multipart/Form-Data; boundary=x", "text/plain ; application/json", ";"}
	refused, read := 0, 0
	for _, r := range slices.Concat(server.Routes(), server.FunctionRoutes()) {
		target := rowTarget(&r)
		last := target[strings.LastIndex(target, "/")+1:]
		body := bodies[last]
		if body == "" {
			body = "{}"
		}
		for _, method := range []string{"GET", "HEAD", "POST"} {
			if r.Methods != "*" && !strings.Contains(r.Methods, method) {
				continue
			}
			if method == "POST" && !r.Reads {
				for _, from := range said {
					for _, kind := range kinds {
						w := s.Do(method, target, body, append([]string{"Content-Type", kind}, from...)...)
						require.Equal(t, 403, w.Code, "%s %s %q %v: %s", method, r.Pattern, kind, from, w.Body)
						require.Contains(t, w.Body.String(), "page of another site", r.Pattern)
						refused++
					}
				}
				continue
			}
			w := s.Do(method, target, body)
			require.NotEqual(t, 403, w.Code, "%s %s: %s", method, r.Pattern, w.Body)
			require.Empty(t, changed(before, stored(t, engine)), "%s %s: %d", method, target, w.Code)
			require.Equal(t, settings, s.Config.All(), "%s %s changed a setting: %d", method, target, w.Code)
			read++
		}
	}
	require.Empty(t, changed(before, stored(t, engine)))
	require.Equal(t, settings, s.Config.All())
	require.Greater(t, refused, 2000)
	require.Greater(t, read, 150)
}

// TestOwnSitesAreLetThrough: what a page of this origin sends, of one that CORS lists, and a
// program that is no browser, is not refused, nor what a browser asks for first.
func TestOwnSitesAreLetThrough(t *testing.T) {
	s := matrixServer(t)
	expect201(t, s.Do("PUT", "/db", ""))
	const path = "/db/_sync_shards" // takes any Content-Type
	for _, headers := range [][]string{
		{}, {"Content-Type", "text/plain"}, {"Content-Type", "application/json", "Origin", "http://evil.example"},
		{"Origin", "http://example.com"}, {"Origin", "https://EXAMPLE.com:443"},
		{"Origin", "http://proxied.example", "Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "none"},
		{"Origin", "http://proxied.example", "X-Forwarded-Host", "proxied.example"},
		{"Referer", "http://example.com/page"},
	} {
		require.Equal(t, 202, s.Do("POST", path, "", headers...).Code, headers)
	}
	for _, pair := range [][2]string{{"chttpd", "enable_cors"}, {"cors", "credentials"}} {
		s.Set(pair[0], pair[1], "true")
	}
	s.Set("cors", "origins", "http://app.example")
	require.Equal(t, 202, s.Do("POST", path, "", "Origin", "http://app.example", "Sec-Fetch-Site", "cross-site").Code)
	require.Equal(t, 403, s.Do("POST", path, "", "Origin", "http://evil.example").Code)
	require.Equal(t, 200, s.Anyone("POST", "/_session", "name=admin&password=secret",
		"Content-Type", "application/x-www-form-urlencoded", "Origin", "http://evil.example").Code, "a login")
}

// TestOtherSitesBehindARowOfTheirPartition: a row that hands a request on leaves the check to the
// row that gets it.
func TestOtherSitesBehindARowOfTheirPartition(t *testing.T) {
	s := servertest.New(t)
	s.PutViews("?partitioned=true")
	for target, status := range map[string]int{
		"/db/_partition/p/_design/d/_update/u": 403, "/db/_partition/p/_index": 403, "/db/_partition/p/_all_docs": 415,
	} {
		w := s.Do("POST", target, "{}", "Content-Type", "text/plain", "Origin", "http://evil.example")
		require.Equal(t, status, w.Code, "%s: %s", target, w.Body)
	}
}

// TestOtherSitesBehindRewrites: a rewrite function may make a change of a GET, as in CouchDB; not
// of one that a page of another site may have sent: with a cookie it has to come from here, since a
// browser need not say where it comes from.
func TestOtherSitesBehindRewrites(t *testing.T) {
	s := servertest.NewJS(t)
	s.PutDesign("d", `{"updates":{"u":"function(d,r){return [{_id:r.uuid},'made']}"},"rewrites":
		"function(r){return {path:'_update/u',method:'POST',headers:{Origin:'http://example.com'}}}"}`)
	w := s.Anyone("POST", "/_session", `{"name":"admin","password":"secret"}`)
	require.Equal(t, 200, w.Code)
	cookie := strings.Split(w.Header().Get("Set-Cookie"), ";")[0]
	ask := func(pairs ...string) int {
		r := httptest.NewRequest("GET", "/db/_design/d/_rewrite/x", nil)
		for i := 0; i < len(pairs); i += 2 {
			r.Header.Set(pairs[i], pairs[i+1])
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, 201, ask())
	require.Equal(t, 201, ask("Cookie", cookie, "Referer", "http://example.com/"))
	require.Equal(t, 201, ask("Cookie", cookie, "Sec-Fetch-Site", "same-origin"))
	require.Equal(t, 403, ask("Cookie", cookie))
	require.Equal(t, 403, ask("Referer", "http://evil.example/"))
	require.Equal(t, 403, ask("Sec-Fetch-Site", "cross-site"))
}
