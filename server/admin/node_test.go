package admin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
)

// TestNodeNames: whatever a node is called, it is also the one that scripts for a CouchDB without a
// name ask for.
func TestNodeNames(t *testing.T) {
	s := servertest.Start(t, server.Options{Node: "couchdb@host"})
	for _, name := range []string{
		"_local", "couchdb@host", "couchdb%40host", "nonode@nohost", "couchdb@127.0.0.1", "couchdb@localhost",
	} {
		url := "/_node/" + name + "/_config/chttpd/x"
		require.Equal(t, 200, s.Do("PUT", url, `"`+name+`"`).Code, name)
		servertest.Expect(t, s.Do("GET", "/_node/_local/_config/chttpd/x", ""), 200, `"`+name+`"`+"\n")
		require.Equal(t, 200, s.Do("GET", "/_node/"+name+"/_stats", "").Code, name)
	}
	servertest.Expect(t, s.Do("GET", "/_node/_local", ""), 200, `{"name":"couchdb@host"}`+"\n")
	for _, name := range []string{"nonode", "couchdb@other", "nonode@nohost2", "_local2", "couchdb@"} {
		servertest.Expect(t, s.Do("PUT", "/_node/"+name+"/_config/chttpd/x", `"y"`), 404,
			`{"error":"not_found","reason":"no such node: `+name+`"}`+"\n")
	}
}
