package server_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// TestAutoPurge: what was deleted is purged as the settings say, and what has seen the documents
// sees them go: indexes that were behind, and a replication that was.
func TestAutoPurge(t *testing.T) {
	s := servertest.NewSearch(t)
	expect201(t, s.Do("PUT", "/db", ""))
	expect201(t, s.Do("PUT", "/copy", ""))
	for _, id := range []string{"a", "b", "c"} {
		expect201(t, s.Do("PUT", "/db/"+id, `{"word":"hello"}`))
	}
	ok := func(method, target, body string) string {
		t.Helper()
		w := s.Do(method, target, body)
		require.Less(t, w.Code, 300, "%s %s: %s", method, target, w.Body)
		return w.Body.String()
	}
	ok("POST", "/db/_index", `{"type":"json","index":{"fields":["word"]},"name":"by-word"}`)
	ok("POST", "/db/_index", `{"type":"text","index":{"fields":[{"name":"word","type":"string"}]},"name":"text"}`)
	const find = `{"selector":{"word":"hello"},"fields":["_id"],"use_index":"by-word"}`
	const search = `{"selector":{"$text":"hello"},"fields":["_id"]}`
	require.Contains(t, ok("POST", "/db/_find", find), `"_id":"b"`)
	require.Contains(t, ok("POST", "/db/_find", search), `"a"`)
	const replicate = `{"source":"db","target":"copy"}`
	ok("POST", "/_replicate", replicate)
	_, rev, _ := strings.Cut(ok("GET", "/db/a", ""), `"_rev":"`)
	ok("DELETE", "/db/a?rev="+rev[:34], "")

	sweeper := s.AutoPurge()
	sweep := func() { // with the plugin off in between, so that a pass begins at once
		t.Helper()
		on := s.Config.String("couch_scanner_plugins", "couch_auto_purge_plugin")
		s.Set("couch_scanner_plugins", "couch_auto_purge_plugin", "false")
		_, err := sweeper.Step(t.Context(), nil)
		require.NoError(t, err)
		s.Set("couch_scanner_plugins", "couch_auto_purge_plugin", on)
		for done := false; !done; {
			_, err := sweeper.Step(t.Context(), func(task []byte) { done = string(task) == "{}" })
			require.NoError(t, err)
			done = done || on != "true"
		}
	}
	deleted := func() string {
		info := ok("GET", "/db", "")
		require.Regexp(t, `"doc_del_count":\d`, info)
		return info
	}
	s.Set("couch_auto_purge_plugin", "deleted_document_ttl", "-1_day")
	sweep()
	require.Contains(t, deleted(), `"doc_del_count":1`, "the plugin is off")
	s.Set("couch_auto_purge_plugin", "dry_run", "true")
	s.Set("couch_scanner_plugins", "couch_auto_purge_plugin", "true")
	sweep()
	require.Contains(t, deleted(), `"doc_del_count":1`, "it is tried out only")
	s.Set("couch_auto_purge_plugin", "dry_run", "false")
	s.Set("couch_auto_purge_plugin.skip_docs", "mine", "^a$")
	sweep()
	require.Contains(t, deleted(), `"doc_del_count":1`, "it is to be skipped")
	_, err := s.Config.Delete("couch_auto_purge_plugin.skip_docs", "mine", false)
	require.NoError(t, err)
	sweep()
	require.Contains(t, deleted(), `"doc_del_count":0`)

	require.Contains(t, ok("POST", "/db/_find", find), `"_id":"b"`)
	require.NotContains(t, ok("POST", "/db/_find", find), `"_id":"a"`)
	require.NotContains(t, ok("POST", "/db/_find", search), `"a"`)
	require.NotContains(t, ok("GET", "/db/_changes", ""), `"id":"a"`)
	require.Contains(t, ok("GET", "/db/_purged_infos", ""), `{"id":"a","revs":["2-`)
	require.Contains(t, ok("GET", "/_node/_local/_stats/auto_purge/purge", ""), `"value":2`, "dry and not")
	expect201(t, s.Do("PUT", "/db/d", `{}`))
	require.Contains(t, ok("POST", "/_replicate", replicate), `"ok":true`)
	require.Equal(t, 200, s.Do("GET", "/copy/a", "").Code, "nobody has told the replica")
	require.Equal(t, 200, s.Do("GET", "/copy/d", "").Code)
	expect201(t, s.Do("PUT", "/db/a", `{}`)) // as one that was never there
}

// TestUnreadableSkips: with an expression that cannot be read nothing is purged, nor before a time.
func TestUnreadableSkips(t *testing.T) {
	s := servertest.NewSearch(t)
	s.Set("couch_scanner_plugins", "couch_auto_purge_plugin", "true")
	s.Set("couch_auto_purge_plugin.skip_dbs", "mine", "(")
	sweeper := s.AutoPurge()
	_, err := sweeper.Step(t.Context(), func([]byte) { t.Error("a pass began") })
	require.NoError(t, err)
	_, err = s.Config.Delete("couch_auto_purge_plugin.skip_dbs", "mine", false)
	require.NoError(t, err)
	s.Set("couch_auto_purge_plugin", "after", "2999-12-31")
	_, err = sweeper.Step(t.Context(), func([]byte) { t.Error("a pass began before its time") })
	require.NoError(t, err)
	s.Set("couch_auto_purge_plugin", "after", "2020-12-31")
	began := false
	_, err = sweeper.Step(t.Context(), func([]byte) { began = true })
	require.NoError(t, err)
	require.True(t, began)
}

// TestRemovals: what purges deleted documents also removes replaced revisions that were kept for
// their time, or of which there are too many bytes.
func TestRemovals(t *testing.T) {
	s := servertest.New(t)
	s.Set("settee", "history", "1d")
	expect201(t, s.Do("PUT", "/db", ""))
	_, rest, _ := strings.Cut(s.Do("PUT", "/db/d", `{}`).Body.String(), `"rev":"`)
	rev := rest[:34]
	expect201(t, s.Do("PUT", "/db/d?rev="+rev, `{"n":2}`))
	pass := func() {
		removals := s.Removals() // a new one begins with a pass
		for range 10 {
			_, err := removals(t.Context(), nil)
			require.NoError(t, err)
		}
	}
	pass()
	require.Equal(t, 200, s.Do("GET", "/db/d?rev="+rev, "").Code)
	s.Set("settee", "history_max_bytes", "1")
	pass()
	require.Equal(t, 404, s.Do("GET", "/db/d?rev="+rev, "").Code)
}
