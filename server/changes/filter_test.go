package changes_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/server/servertest"
)

// TestMain lets the test binary be the workers of JavaScript, too.
func TestMain(m *testing.M) {
	js.RunWorkerIfAsked()
	os.Exit(m.Run())
}

func TestFilterBeatsWhileItWorks(t *testing.T) {
	s := servertest.NewJS(t)
	for i := range 3 {
		require.Equal(t, 201, s.Do("PUT", fmt.Sprint("/db/d", i), `{}`).Code)
	}
	s.PutDesign("f",
		`{"filters":{"slow":"function(doc){ var end = Date.now() + 300; while (Date.now() < end); return doc._id != 'd1' }"}}`,
	)
	server := httptest.NewServer(s)
	defer server.Close()
	r, err := http.Get(server.URL + "/db/_changes?filter=f/slow&feed=continuous&heartbeat=100&limit=2")
	require.NoError(t, err)
	defer r.Body.Close()
	var text strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := r.Body.Read(buffer)
		text.Write(buffer[:n])
		if err != nil {
			break
		}
	}
	before, _, _ := strings.Cut(text.String(), `{"seq"`)
	require.GreaterOrEqual(t, strings.Count(before, "\n"), 2)
	require.Contains(t, text.String(), `"id":"d0"`)
	require.Contains(t, text.String(), `"id":"d2"`)
	require.NotContains(t, text.String(), `"id":"d1"`)
}
