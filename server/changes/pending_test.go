package changes_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// A feed of some ids that wakes up once for two updates says what one says that wakes up for each
// of them.
func TestNothingIsPendingAfterAWait(t *testing.T) {
	s := servertest.NewJS(t)
	require.Equal(t, 201, s.Do("PUT", "/db/a", "{}").Code)
	server := httptest.NewServer(s)
	defer server.Close()
	r, err := http.Post(server.URL+"/db/_changes?feed=longpoll&since=now&timeout=8000&filter=_doc_ids",
		"application/json", strings.NewReader(`{"doc_ids":["z"]}`))
	require.NoError(t, err)
	defer r.Body.Close()
	answer := bufio.NewReader(r.Body)
	for range 2 { // the second line says that it has looked and waits
		_, err := answer.ReadString('\n')
		require.NoError(t, err)
	}
	require.Equal(t, 201, s.Do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"y"},{"_id":"z"}]}`).Code)
	rest, err := io.ReadAll(answer)
	require.NoError(t, err)
	require.Contains(t, string(rest), `"id":"z"`)
	require.Contains(t, string(rest), `"pending":0`)
}
