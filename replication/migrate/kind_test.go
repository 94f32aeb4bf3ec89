package migrate

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/replication/site"
)

// TestKinds: a database is made as what the source's is, and one with access for each document is
// not copied to a server that makes another of it.
func TestKinds(t *testing.T) {
	props, asked := "", ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			asked = r.URL.String()
			w.WriteHeader(http.StatusCreated)
			return
		}
		_, _ = w.Write([]byte(`{"props":{` + props + `}}`))
	}))
	defer server.Close()
	target := &site.Site{Base: server.URL}
	for _, c := range []struct {
		of          kind
		props, asks string
		refused     bool
	}{
		{kind{}, "", "/a%2Fb", false},
		{kind{Partitioned: true}, "", "/a%2Fb?partitioned=true", false},
		{kind{Access: true}, `"access":true`, "/a%2Fb?access=true", false},
		{kind{Access: true, Partitioned: true}, `"access":true`, "/a%2Fb?access=true&partitioned=true", false},
		{kind{Access: true}, "", "/a%2Fb?access=true", true},
	} {
		props = c.props
		created, err := createDB(t.Context(), target, "a/b", c.of)
		require.True(t, created)
		require.Equal(t, c.asks, asked)
		if c.refused {
			require.ErrorContains(t, err, "everybody would read all of it")
		} else {
			require.NoError(t, err)
		}
	}
}
