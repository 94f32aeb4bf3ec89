package databases_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
)

// TestNoRoom: while the disk is too full, what clients write is 507, new databases among it, before
// anything else is told of it; what is replicated, or makes no document, is written. See
// next-disk.json for more.
func TestNoRoom(t *testing.T) {
	noRoom := false
	s := servertest.Start(t, server.Options{NoRoom: func() bool { return noRoom }})
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/a", `{}`).Code)
	noRoom = true
	for _, c := range []struct {
		method, path, body string
		code               int
	}{
		{"PUT", "/db", "", 412},
		{"PUT", "/new", "", 507},
		{"PUT", "/New", "", 400},
		{"PUT", "/db/a", `{}`, 507},
		{"PUT", "/db/b", `{"_attachments":{"x":{"data":"YQ=="}}}`, 507},
		{"PUT", "/db/b", `{"_attachments":{"x":{"stub":true}}}`, 507},
		{"PUT", "/db/b?new_edits=false", `{"_rev":"1-a","_attachments":{"x":{"data":"YQ=="}}}`, 201},
		{"PUT", "/db/_local/x", `{}`, 507},
		{"PUT", "/db/c/att", `x`, 507},
		{"POST", "/db/_index", `{"index":{"fields":["a"]}}`, 500}, // error_saving_ddoc, as in CouchDB
		{"POST", "/db/_bulk_docs", `{"atomic":true,"docs":[{"_id":"b"}]}`, 507},
		{"PATCH", "/db/a", `{"n":1}`, 507},
		{"PUT", "/db/_security", `{}`, 200},
		{"PUT", "/db/_revs_limit", `9`, 200},
		{"DELETE", "/new", "", 404},
		{"DELETE", "/db", "", 200},
	} {
		var headers []string
		if c.method == "PATCH" {
			headers = []string{"Content-Type", "application/merge-patch+json"}
		}
		answer := s.Do(c.method, c.path, c.body, headers...)
		require.Equal(t, c.code, answer.Code, "%s %s: %s", c.method, c.path, answer.Body)
		if c.code == 507 {
			require.Equal(t, `{"error":"insufficient_storage","reason":"database_dir is too full"}`+"\n", answer.Body.String())
		}
	}
	noRoom = false
	require.Equal(t, 201, s.Do("PUT", "/new", "").Code)
}
