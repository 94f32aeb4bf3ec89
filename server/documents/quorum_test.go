package documents_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// TestWriteQuorum: w asks for more copies than there are. 202 says so, but not to who replicates,
// nor of no write.
func TestWriteQuorum(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	const rev = `"_rev":"1-23202479633c2b380f79507a776743d5"`
	related := "--b\r\nContent-Type: application/json\r\n\r\n{" + rev + "}\r\n--b--"
	for i, c := range []struct {
		request, body string
		status        int
		headers       []string
	}{
		{"PUT /db/a?w=1", `{}`, 201, nil},
		{"PUT /db/b?w=3", `{}`, 202, nil},
		{"PUT /db/_local/b?w=3", `{}`, 202, nil},
		{"PUT /db/c?w=3&new_edits=false", `{` + rev + `}`, 201, nil},
		{"PUT /db/c?w=3&new_edits=false", `{"_deleted":true,` + strings.Replace(rev, "1-", "2-", 1) + `}`, 200, nil},
		{"PUT /db/d?w=3&new_edits=false", related, 201, []string{"Content-Type", `multipart/related;boundary="b"`}},
		{"PUT /db/a?w=3", `{}`, 409, nil},
		{"POST /db?w=3", `{"_id":"f"}`, 202, nil},
		{"POST /db?w=3&new_edits=false", `{"_id":"g",` + rev + `}`, 202, nil}, // new_edits is PUT's
		{"POST /db/_bulk_docs?w=3", `{"docs":[{"_id":"h"}]}`, 202, nil},
		{"POST /db/_bulk_docs", `{"w":3,"docs":[{"_id":"h"}]}`, 201, nil}, // a conflict
		{"POST /db/_bulk_docs", `{"w":3,"docs":[{"_id":"h"},{"_id":"i"}]}`, 202, nil},
		{"POST /db/_bulk_docs", `{"w":3,"docs":[]}`, 201, nil},
		{"POST /db/_bulk_docs", `{"w":3,"new_edits":false,"docs":[{"_id":"j",` + rev + `}]}`, 201, nil},
	} {
		method, target, _ := strings.Cut(c.request, " ")
		require.Equal(t, c.status, s.Do(method, target, c.body, c.headers...).Code, fmt.Sprint(i, " ", c.request))
	}
	form := "--b\r\nContent-Disposition: form-data; name=\"_doc\"\r\n\r\n{}\r\n--b--\r\n"
	w := s.Do("POST", "/db/k?w=3", form,
		"Content-Type", "multipart/form-data; boundary=b", "Referer", "http://example.com/")
	require.Equal(t, 202, w.Code, w.Body)
}
