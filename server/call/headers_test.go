package call_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

func TestServerHeader(t *testing.T) {
	s := servertest.New(t)
	server := func() string { return s.Do("GET", "/_up", "").Header().Get("Server") }
	require.Equal(t, "CouchDB/3.5.2 (Erlang OTP/25)", server())
	s.Set("chttpd", "server_header_versions", "false")
	require.Equal(t, "CouchDB", server())
}

func TestMinimalHeaders(t *testing.T) {
	s := servertest.New(t)
	s.Set("chttpd", "prefer_minimal", "ETag, Vary")
	h := s.Do("GET", "/_up", "", "Prefer", "return=minimal").Header()
	require.Contains(t, h, "Content-Type", "net/http makes none up")
	require.Empty(t, h.Get("Content-Type"))
	require.NotEmpty(t, h.Get("Content-Length"))
	require.NotEmpty(t, s.Do("GET", "/_up", "").Header().Get("Content-Type"))
}
