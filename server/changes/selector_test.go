package changes_test

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// TestSelectorFilter looks at what the recordings of the filter leave out.
func TestSelectorFilter(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, http.StatusCreated, s.Do(http.MethodPut, "/db", "").Code)
	require.Equal(
		t,
		http.StatusCreated,
		s.Do(http.MethodPost, "/db/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"a","_rev":"1-a","v":1},
		{"_id":"c","_rev":"2-c","v":[2],"_revisions":{"start":2,"ids":["c","b"]}},
		{"_id":"c","_rev":"2-d","_deleted":true,"v":1,"_revisions":{"start":2,"ids":["d","b"]}},
		{"_id":"t","_rev":"1-t","_attachments":{"x":{"data":"aGVsbG8=","content_type":"text/plain"}}}]}`).Code,
	)
	for _, tt := range []struct{ name, query, body, want string }{
		{"no conflicts are an empty list", "&style=all_docs&include_docs=true&conflicts=true", `{"selector":{"v":1}}`,
			`{"id":"a","changes":[{"rev":"1-a"}],"doc":{"_id":"a","_rev":"1-a","v":1,"_conflicts":[]}},` +
				`{"id":"c","changes":[{"rev":"2-d"}],"doc":{"_id":"c","_rev":"2-c","v":[2],"_conflicts":[]}}`},
		{"leaves without bodies", "&style=all_docs", `{"selector":{"_deleted":true}}`, `{"id":"c","changes":[{"rev":"2-d"}]}`},
		{"attachments are seen", "", `{"selector":{"_attachments.x.stub":true}}`, `{"id":"t","changes":[{"rev":"1-t"}]}`},
		{"elements become members", "&include_docs=true", `{"selector":{"_id":"c"},"fields":["v.0","_id"]}`, `{"id":"c","changes":[{"rev":"2-c"}],"doc":{"v":{"0":2},"_id":"c"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := s.Do(http.MethodPost, "/db/_changes?filter=_selector"+tt.query, tt.body)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			rows := regexp.MustCompile(`(?s)"results":\[\n(.*)\n\],`).FindStringSubmatch(w.Body.String())[1]
			rows = regexp.MustCompile(`"seq":"[^"]*",|\r\n`).ReplaceAllString(rows, "")
			require.Equal(t, tt.want, rows)
		})
	}
	w := s.Do(http.MethodPost, "/db/_changes?filter=_selector", `{"selector":{"a..b":1}}`)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Equal(t, `{"error":"bad_request","reason":"Invalid field name: a..b"}`+"\n", w.Body.String())
}
