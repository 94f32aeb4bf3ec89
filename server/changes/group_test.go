package changes_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// groupedRow is a row of a feed with group=true; the document says which request wrote it.
type groupedRow struct {
	Seq, ID, Commit string
	Doc             struct{ Tx int }
}

type groupedPage struct {
	Results []groupedRow
	LastSeq string `json:"last_seq"`
	Pending int
}

// askGrouped reads a page of a feed.
func askGrouped(t *testing.T, s *servertest.Server, method, query, body string) (page groupedPage) {
	t.Helper()
	w := s.Do(method, "/db/_changes?include_docs=true&"+query, body)
	require.Equal(t, 200, w.Code, w.Body.String())
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &page), w.Body.String())
	return page
}

// TestGroup: with group=true pages of any size, through any filter, have the same rows as the whole
// feed, and end between commits as early as the limit allows; rows have the same commit if and only
// if one request wrote them.
func TestGroup(t *testing.T) {
	s := servertest.NewJS(t)
	s.Set("couchdb", "changes_doc_ids_optimization_threshold", "10")
	s.PutDesign("f", `{"tx":-1,"filters":{"odd":"function(doc){ return doc.odd }"}}`)
	random := rand.New(rand.NewPCG(3, 5))
	revs := make(map[string]string)
	for tx := range 60 {
		ids := random.Perm(90)[:1+random.IntN(8)]
		var docs []string
		for _, n := range ids {
			id := fmt.Sprintf("d%d", n)
			deleted := random.IntN(9) == 0 && revs[id] != ""
			doc := fmt.Sprintf(`{"_id":%q,"_rev":%q,"tx":%d,"odd":%t,"_deleted":%t}`,
				id, revs[id], tx, n%2 == 1, deleted)
			docs = append(docs, strings.Replace(doc, `"_rev":"",`, "", 1))
		}
		w := s.Do("POST", "/db/_bulk_docs", `{"atomic":true,"docs":[`+strings.Join(docs, ",")+`]}`)
		require.Equal(t, 201, w.Code, w.Body.String())
		var rows []struct{ ID, Rev string }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &rows))
		for i, row := range rows {
			if revs[row.ID] = row.Rev; strings.Contains(docs[i], `"_deleted":true`) {
				delete(revs, row.ID) // the next edit begins anew
			}
		}
	}
	few, many := `{"doc_ids":["d1","d5","d9","none"]}`, []string{}
	for i := range 40 {
		many = append(many, fmt.Sprintf(`"d%d"`, 2*i))
	}
	for _, c := range []struct{ method, query, body string }{
		{"GET", "", ""},
		{"GET", "style=all_docs&", ""},
		{"POST", "filter=_doc_ids&", few},
		{"POST", "filter=_doc_ids&", `{"doc_ids":[` + strings.Join(many, ",") + `]}`},
		{"GET", "filter=_design&", ""},
		{"POST", "filter=_selector&", `{"selector":{"odd":true}}`},
		{"GET", "filter=f/odd&", ""},
	} {
		whole := askGrouped(t, s, c.method, c.query+"group=true", c.body)
		plain := askGrouped(t, s, c.method, c.query, c.body)
		require.Equal(t, len(plain.Results), len(whole.Results))
		for i := range whole.Results {
			for j := range i {
				require.Equal(t, whole.Results[i].Doc.Tx == whole.Results[j].Doc.Tx,
					whole.Results[i].Commit == whole.Results[j].Commit)
			}
		}
		for _, limit := range []int{1, 2, 3, 7, 1000} {
			var all []groupedRow
			for since := "0"; ; {
				query := fmt.Sprintf("%sgroup=true&limit=%d&since=%s", c.query, limit, since)
				page := askGrouped(t, s, c.method, query, c.body)
				if since = page.LastSeq; len(page.Results) == 0 {
					break
				}
				all = append(all, page.Results...)
				checkPage(t, query, page.Results, whole.Results[len(all)-len(page.Results):], limit)
				if !strings.Contains(query, "_doc_ids") && !strings.Contains(query, "_design") {
					left := askGrouped(t, s, "GET", "since="+since, "")
					require.Len(t, left.Results, page.Pending, query)
				}
			}
			require.Equal(t, whole.Results, all)
			query := fmt.Sprintf("%sgroup=true&descending=true&limit=%d", c.query, limit)
			down := askGrouped(t, s, c.method, query, c.body)
			reversed := slices.Clone(whole.Results)
			slices.Reverse(reversed)
			for i := range down.Results { // their numbers are counted from the other end
				require.Equal(t, reversed[i].ID, down.Results[i].ID)
			}
			checkPage(t, query, down.Results, reversed, limit)
		}
	}
}

// checkPage holds a page against the rows of which it is the beginning.
func checkPage(t *testing.T, query string, page, rows []groupedRow, limit int) {
	t.Helper()
	n := min(limit, len(rows))
	for n < len(rows) && rows[n].Commit == rows[n-1].Commit {
		n++
	}
	require.Len(t, page, n, query)
}

// TestNoBeatInACommit: a feed with a slow filter beats between commits, and never inside of one.
func TestNoBeatInACommit(t *testing.T) {
	s := servertest.NewJS(t)
	ids := func(tx int) (docs []string) {
		for i := range 4 {
			// The function gets each in a batch of its own.
			docs = append(docs, fmt.Sprintf(`{"_id":"%d%d","pad":%q}`, tx, i, strings.Repeat("x", 1<<20)))
		}
		return docs
	}
	for tx := range 2 {
		w := s.Do("POST", "/db/_bulk_docs", `{"atomic":true,"docs":[`+strings.Join(ids(tx), ",")+`]}`)
		require.Equal(t, 201, w.Code, w.Body.String())
	}
	s.PutDesign("f",
		`{"filters":{"slow":"function(doc){ var end = Date.now() + 300; while (Date.now() < end); return true }"}}`)
	server := httptest.NewServer(s)
	defer server.Close()
	r, err := http.Get(server.URL + "/db/_changes?filter=f/slow&feed=continuous&heartbeat=100&limit=5&group=true")
	require.NoError(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	rows := strings.Split(string(text), `{"seq"`)
	require.Len(t, rows, 9)
	require.Contains(t, rows[0], "\n\n")
	for i := 1; i < 8; i++ {
		require.Equal(t, i == 4, strings.HasSuffix(rows[i], "\n\n"), "%d: %q", i, rows[i])
	}
}
