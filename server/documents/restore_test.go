package documents_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// revIn is the revision in an answer.
func revIn(answer string) string {
	_, rest, _ := strings.Cut(answer, `"rev":"`)
	rev, _, _ := strings.Cut(rest, `"`)
	return rev
}

// storedDB is a server with an empty database, and its store.
func storedDB(t *testing.T) (*servertest.Server, *storage.Store) {
	engine := memkv.New()
	store := servertest.OpenStore(t, engine)
	views := servertest.OpenViews(t, store, engine)
	s := servertest.Start(t, server.Options{Store: store, Views: views})
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	return s, store
}

// threeRevs puts a document with three revisions into the database, a tombstone last.
func threeRevs(t *testing.T, s *servertest.Server) (revs []string) {
	target := "/db/d"
	for _, body := range []string{
		`{"n":1,"_attachments":{"x":{"data":"eA=="},"y":{"data":"eQ=="}}}`,
		`{"n":2}`, `{"n":2,"_deleted":true}`,
	} {
		w := s.Do("PUT", target, body)
		require.Less(t, w.Code, 300, w.Body)
		revs = append(revs, revIn(w.Body.String()))
		target = "/db/d?rev=" + revs[len(revs)-1]
	}
	return revs
}

// TestRestore: a deleted document comes back with the attachments of the revision, a newer revision
// gives way, a second request changes nothing, and what the path is otherwise stays.
func TestRestore(t *testing.T) {
	s, store := storedDB(t)
	revs := threeRevs(t, s)
	info := s.Do("GET", "/db/d?revs_info=true&deleted=true", "").Body.String()
	require.Contains(t, info, `"_revs_info":[{"rev":"`+revs[2]+`","status":"deleted"},{"rev":"`+revs[1]+
		`","status":"available"},{"rev":"`+revs[0]+`","status":"available"}]`)
	require.Equal(t, 404, s.Do("GET", "/db/d?revs_info=true", "").Code, "as CouchDB")

	w := s.Do("POST", "/db/d/_restore?rev="+revs[0], "")
	require.Equal(t, 201, w.Code, w.Body)
	back := revIn(w.Body.String())
	require.Regexp(t, `^4-`, back)
	require.Equal(t, `"`+back+`"`, servertest.ETag(w))
	require.Equal(t, "http://example.com/db/d", w.Header().Get("Location"))
	require.Contains(t, s.Do("GET", "/db/d", "").Body.String(), `"n":1,"_attachments":{"x":{`)
	require.Equal(t, "y", s.Do("GET", "/db/d/y", "").Body.String())

	w = s.Do("POST", "/db/d/_restore?rev="+revs[0], "")
	require.Equal(t, 200, w.Code, "it is there")
	require.Equal(t, back, revIn(w.Body.String()))
	require.Equal(t, 409, s.Do("POST", "/db/d/_restore?rev="+revs[1], "", "If-Match", revs[2]).Code)
	w = s.Do("POST", "/db/d/_restore?rev="+revs[1], "", "If-Match", back)
	require.Equal(t, 201, w.Code, w.Body)
	require.NotContains(t, s.Do("GET", "/db/d", "").Body.String(), "_attachments")

	require.NoError(t, store.DB("db").Compact(t.Context()))
	gone := `{"error":"not_found","reason":"the body of this revision is not kept any more"}` + "\n"
	missing := `{"error":"not_found","reason":"missing"}` + "\n"
	servertest.Expect(t, s.Do("POST", "/db/d/_restore?rev="+revs[0], ""), 404, gone)
	servertest.Expect(t, s.Do("POST", "/db/d/_restore?rev=1-abc", ""), 404, missing)
	servertest.Expect(t, s.Do("POST", "/db/e/_restore?rev="+revs[0], ""), 404, missing)
	require.Equal(t, 404, s.Do("POST", "/none/d/_restore?rev="+revs[0], "").Code)
	for _, query := range []string{"", "?rev=", "?rev=x"} {
		require.Equal(t, 400, s.Do("POST", "/db/d/_restore"+query, "").Code, query)
	}
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "COPY"} {
		plain := s.Do(method, "/db/d/_other?rev="+revs[1], "")
		w := s.Do(method, "/db/d/_restore?rev="+revs[1], "")
		require.GreaterOrEqual(t, w.Code, 400, method)
		require.Equal(t, plain.Code, w.Code, method)
		want := strings.ReplaceAll(plain.Body.String(), "_other", "_restore")
		require.Equal(t, want, w.Body.String(), method)
		require.Equal(t, plain.Header().Get("Allow"), w.Header().Get("Allow"))
	}
	require.Equal(t, 405, s.Do("POST", "/db/d/_other", "").Code)
}

// TestRestoreTombstone: a tombstone is not what somebody wants back, with a body or without.
func TestRestoreTombstone(t *testing.T) {
	s, _ := storedDB(t)
	revs := threeRevs(t, s)
	deleted := `{"error":"not_found","reason":"deleted"}` + "\n"
	servertest.Expect(t, s.Do("POST", "/db/d/_restore?rev="+revs[2], ""), 404, deleted)
	require.Equal(t, 201, s.Do("PUT", "/db/d", `{"n":3}`).Code)
	servertest.Expect(t, s.Do("POST", "/db/d/_restore?rev="+revs[2], ""), 404, deleted)
}

// TestRestoreIsAWrite: who may not write the document may not restore it either, a validation
// function sees what comes back, and what is hidden is not told of.
func TestRestoreIsAWrite(t *testing.T) {
	s := servertest.NewJS(t)
	w := s.Do("PUT", "/db/d", `{"bad":true}`)
	first := revIn(w.Body.String())
	require.Equal(t, 201, s.Do("PUT", "/db/d?rev="+first, `{"n":2}`).Code)
	require.Equal(t, 200, s.Do("PUT", "/db/_security", `{"members":{"names":["ada"]}}`).Code)
	require.Equal(t, 401, s.Anyone("POST", "/db/d/_restore?rev="+first, "").Code)
	s.PutDesign("v",
		`{"validate_doc_update":"function(d, old) { if (d.bad && old.n == 2) throw({forbidden: 'no'}); }"}`)
	servertest.Expect(t, s.Do("POST", "/db/d/_restore?rev="+first, ""), 403,
		`{"error":"forbidden","reason":"no"}`+"\n")

	w = s.Do("PUT", "/db/_design/e", `{"language":"javascript","views":{}}`)
	first = revIn(w.Body.String())
	require.Equal(t, 201, s.Do("PUT", "/db/_design/e?rev="+first, `{}`).Code)
	require.Equal(t, 201, s.Do("POST", "/db/_design/e/_restore?rev="+first, "").Code)
	require.Contains(t, s.Do("GET", "/db/_design/e", "").Body.String(), `"views":{}`)
}

// TestRestoresAndEdits: restores and edits of one document by many end in one line of revisions,
// and none of the restores is told a conflict.
func TestRestoresAndEdits(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	first := revIn(s.Do("PUT", "/db/d", `{"n":-1}`).Body.String())
	var all sync.WaitGroup
	for client := range 4 {
		all.Go(func() {
			for n := range 10 {
				if client%2 == 0 {
					if w := s.Do("POST", "/db/d/_restore?rev="+first, ""); w.Code != 201 && w.Code != 200 {
						t.Error(w.Code, w.Body)
					}
					continue
				}
				status, answer := patchOf(s, "/db/d", fmt.Sprintf(`{"n":%d,"by":%d}`, n, client))
				if status > 201 {
					t.Error(status, answer)
				}
			}
		})
	}
	all.Wait()
	require.NotContains(t, s.Do("GET", "/db/d?conflicts=true", "").Body.String(), "_conflicts")
}

// pastModel is a document as plain values: what restores may find.
type pastModel struct {
	body    map[string]string // of each revision that the document knows, "" where it is not kept
	deleted map[string]bool
	parent  map[string]string
	leaves  []string
}

// winner is the leaf that CouchDB shows: one that is not deleted, then the longest, then the
// greatest.
func (m *pastModel) winner() string {
	key := func(rev string) string {
		n, _ := strconv.Atoi(strings.Split(rev, "-")[0])
		return fmt.Sprintf("%t %06d %s", !m.deleted[rev], n, rev)
	}
	return slices.MaxFunc(m.leaves, func(a, b string) int {
		return strings.Compare(key(a), key(b))
	})
}

// add notes a revision over another one, "" for none.
func (m *pastModel) add(rev, parent, body string, deleted bool) {
	m.body[rev], m.parent[rev], m.deleted[rev] = body, parent, deleted
	m.leaves = append(slices.DeleteFunc(m.leaves, func(l string) bool { return l == parent }), rev)
}

// compact forgets the bodies of all but leaves.
func (m *pastModel) compact() {
	for rev := range m.body {
		if !slices.Contains(m.leaves, rev) {
			m.body[rev] = ""
		}
	}
}

// TestRestoreAgainstModel: random histories of edits, deletions, conflicts, compactions and
// restores give what a model of plain values gives: the status, the parent and the body of the new
// revision, and what _revs_info says of each revision of the winner's line. Each history ends with a
// revision that can be restored and is.
func TestRestoreAgainstModel(t *testing.T) {
	s, store := storedDB(t)
	docs := 0
	rapid.Check(t, func(t *rapid.T) {
		docs++
		id := fmt.Sprintf("/db/d%d", docs)
		m := &pastModel{
			body: map[string]string{}, deleted: map[string]bool{}, parent: map[string]string{},
		}
		m.add(revIn(s.Do("PUT", id, `{"n":0}`).Body.String()), "", `"n":0`, false)
		edit := func(body string, deleted bool) {
			winner, text := m.winner(), "{"+body+"}"
			if deleted {
				text = "{" + body + `,"_deleted":true}`
			}
			target := id
			if !m.deleted[winner] {
				target += "?rev=" + winner
			}
			w := s.Do("PUT", target, text)
			require.Less(t, w.Code, 300, w.Body)
			m.add(revIn(w.Body.String()), winner, body, deleted)
		}
		restore := func(rev string, status int) {
			winner := m.winner()
			w := s.Do("POST", id+"/_restore?rev="+rev, "")
			require.Equal(t, status, w.Code, w.Body)
			switch status {
			case 200:
				require.Equal(t, winner, revIn(w.Body.String()))
			case 201:
				m.add(revIn(w.Body.String()), winner, m.body[rev], false)
			}
		}
		for step := range rapid.IntRange(1, 25).Draw(t, "steps") {
			winner := m.winner()
			body := fmt.Sprintf(`"n":%d`, rapid.IntRange(0, 3).Draw(t, "n"))
			if rapid.IntRange(0, 5).Draw(t, "long") == 0 {
				body += `,"x":"` + strings.Repeat("y", 70_000) + `"` // apart from its entry
			}
			switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
			case what < 3 && !m.deleted[winner]: // an edit, or a deletion
				edit(body, what == 0)
			case what == 3: // a conflict from elsewhere, over any revision
				over := rapid.SampledFrom(sortedKeys(m.body)).Draw(t, "over")
				n, _ := strconv.Atoi(strings.Split(over, "-")[0])
				rev := fmt.Sprintf("%d-%032x", n+1, 1000*docs+step)
				text := fmt.Sprintf(`{"_rev":%q,"_revisions":{"start":%d,"ids":["%032x",%q]},%s}`,
					rev, n+1, 1000*docs+step, strings.Split(over, "-")[1], body)
				require.Equal(t, 201, s.Do("PUT", id+"?new_edits=false", text).Code)
				m.add(rev, over, body, false)
			case what == 4 && rapid.IntRange(0, 3).Draw(t, "compact") == 0:
				require.NoError(t, store.DB("db").Compact(t.Context()))
				m.compact()
			case what > 5:
				rev := rapid.SampledFrom(sortedKeys(m.body)).Draw(t, "rev")
				switch {
				case m.body[rev] == "", m.deleted[rev]:
					restore(rev, 404)
				case !m.deleted[winner] && m.body[winner] == m.body[rev]:
					restore(rev, 200)
				default:
					restore(rev, 201)
				}
			}
			m.compare(t, s, id)
		}
		edit(`"n":8`, false)
		rev := m.winner()
		edit(`"n":9`, false)
		restore(rev, 201)
		m.compare(t, s, id)
	})
}

func sortedKeys(m map[string]string) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// compare looks at the winner and its line.
func (m *pastModel) compare(t *rapid.T, s *servertest.Server, id string) {
	var got struct {
		Rev      string                         `json:"_rev"`
		Deleted  bool                           `json:"_deleted"`
		RevsInfo []struct{ Rev, Status string } `json:"_revs_info"`
	}
	text := s.Do("GET", id+"?revs_info=true&deleted=true", "").Body.String()
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	winner := m.winner()
	require.Equal(t, winner, got.Rev)
	require.Equal(t, m.deleted[winner], got.Deleted)
	require.Contains(t, text, m.body[winner])
	rev := winner
	for _, info := range got.RevsInfo {
		want := "available"
		switch {
		case m.body[rev] == "":
			want = "missing"
		case m.deleted[rev]:
			want = "deleted"
		}
		require.Equal(t, [2]string{rev, want}, [2]string{info.Rev, info.Status})
		rev = m.parent[rev]
	}
	require.Empty(t, rev)
}
