package documents_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// With latest=true a revision stands for the leaf that descends from it, as in couch_doc_open of
// chttpd_db.
func TestAttachmentOfTheLatestRevision(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/db", "").Code)
	put := func(query, data string) string {
		w := s.Do("PUT",
			"/db/doc"+query,
			fmt.Sprintf(`{"_attachments":{"a":{"data":%q,"content_type":"text/plain"}}}`, data),
		)
		require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
		var answer struct{ Rev string }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		return answer.Rev
	}
	first := put("", "b25l")
	second := put("?rev="+first, "dHdv")
	get := func(query string) string {
		w := s.Do("GET", "/db/doc/a?"+query, "")
		return fmt.Sprint(w.Code, " ", w.Body.String())
	}
	require.Equal(t, "200 one", get("rev="+first))
	require.Equal(t, "200 two", get("latest=true&rev="+first))
	require.Equal(t, "200 two", get("latest=true&rev="+second))
	require.Equal(t, "200 two", get("latest=true"))
	require.Equal(t, "404 {\"error\":\"not_found\",\"reason\":\"missing\"}\n", get("latest=true&rev=9-abc"))
	line := func(depth int, revs string) string {
		return fmt.Sprintf(`"_revisions":{"start":%d,"ids":[%s%q]}`, depth, revs, first[2:])
	}
	replicate := func(doc string) {
		w := s.Do("POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"doc",`+doc+`}]}`)
		require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
	}
	replicate(line(2, `"fff",`) + `,"_attachments":{"a":{"data":"dGhyZWU=","content_type":"text/plain"}}`)
	require.Equal(t, "200 three", get("latest=true&rev="+first), "of several leaves that which wins")
	require.Equal(t, "200 three", get("latest=true&rev=2-fff"))
	replicate(line(3, `"bbb","fff",`) + `,"_deleted":true`)
	require.Equal(
		t,
		"404 {\"error\":\"not_found\",\"reason\":\"Document is missing attachment\"}\n",
		get("latest=true&rev=2-fff"),
	)
	require.Equal(t, "200 two", get("latest=true&rev="+first), "a tombstone comes last")
}

// What the store says of an attachment that was announced and whose bytes never came is CouchDB's
// crash to clients.
func TestAttachmentWhoseBytesNeverCame(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/db", "").Code)
	w := s.Do("PUT", "/db/doc", `{"_attachments":{"a":{"follows":true,"length":3,"content_type":"text/plain"}}}`)
	servertest.Expect(t, w, 500, `{"error":"unknown_error","reason":"function_clause","ref":3102027302}`+"\n")
	require.NotEmpty(t, w.Header().Get("X-Couch-Stack-Hash"))
}

// What a document says of an attachment is the client's mistake; CouchDB answers 500.
func TestAttachmentOfNoType(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	w := s.Do("PUT", "/db/doc", `{"_attachments":{"a":{"data":"dGhyZWU=","content_type":5}}}`)
	servertest.Expect(t, w, 400, `{"error":"bad_request","reason":"Invalid attachment content_type for a"}`+"\n")
	w = s.Do("PUT", "/db/doc", `{"_attachments":{"a":{"stub":true,"digest":"md5-wrong"}}}`)
	servertest.Expect(t, w, 400, `{"error":"bad_request","reason":"Invalid attachment digest for a"}`+"\n")
}

// TestAttachmentThatIsNoGzip: what was uploaded as gzip and is none can be read as it is stored,
// and elsewhere makes no error of the server; CouchDB breaks the answer off.
func TestAttachmentThatIsNoGzip(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	const refused = `{"error":"not_acceptable","reason":"The attachment is marked gzip and is none: ` +
		`it can be read as it is stored, with Accept-Encoding: gzip."}` + "\n"
	for i, body := range []string{
		"hello", "", "\x1f\x8b", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", strings.Repeat("x", 70_000),
	} {
		id := fmt.Sprint("/db/d", i)
		w := s.Do("PUT", id+"/a", body, "Content-Type", "text/plain", "Content-Encoding", "gzip")
		require.Equal(t, 201, w.Code, w.Body.String())
		servertest.Expect(t, s.Do("GET", id+"/a", ""), 406, refused)
		servertest.Expect(t, s.Do("GET", id+"?attachments=true", "", "Accept", "application/json"), 406, refused)
		servertest.Expect(t, s.Do("GET", id+"/a", "", "Accept-Encoding", "gzip"), 200, body)
		require.Contains(t, s.Do("GET", id+"?attachments=true", "").Body.String(), body)
	}
}
