package server_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/call"
)

var update = flag.Bool("update", false, "write docs/api-coverage.md")

const coverageFile = "../docs/api-coverage.md"

func TestAPICoverage(t *testing.T) {
	if *update {
		require.NoError(t, os.WriteFile(coverageFile, []byte(server.APICoverage()), 0o644))
	}
	text, err := os.ReadFile(coverageFile)
	require.NoError(t, err)
	require.Equal(t, server.APICoverage(), string(text), "stale: run go generate ./server")
}

// TestAllowLists: the Allow headers CouchDB sends, made from the rows.
func TestAllowLists(t *testing.T) {
	router := call.NewRouter(server.Routes())
	for path, allow := range map[string]string{
		"/": "GET,HEAD", "/_uuids": "GET", "/_all_dbs": "GET,HEAD", "/_dbs_info": "GET,HEAD,POST", "/db": "DELETE,GET,HEAD,POST",
		"/db/doc": "DELETE,GET,HEAD,POST,PUT,COPY", "/db/_design/d": "DELETE,GET,HEAD,POST,PUT,COPY", "/db/_local/l": "DELETE,GET,HEAD,POST,PUT,COPY",
		"/db/doc/att": "DELETE,GET,HEAD,PUT", "/db/doc/a/b": "DELETE,GET,HEAD,PUT", "/db/_design/d/att": "DELETE,GET,HEAD,PUT",
		"/db/_changes": "GET,POST,HEAD", "/db/_security": "PUT,GET", "/db/_revs_limit": "PUT,GET", "/db/_purged_infos_limit": "GET,PUT",
		"/db/_all_docs": "GET,HEAD,POST", "/db/_all_docs/queries": "POST", "/db/_shards/x": "GET", "/db/_partition/p": "GET",
		"/_node/_local/_config": "GET", "/_node/_local/_config/_reload": "POST", "/_node/_local/_config/a/b": "GET,PUT,DELETE",
		"/_reshard": "GET,HEAD", "/_reshard/state": "GET,HEAD,PUT", "/_reshard/jobs": "GET,HEAD,POST", "/_reshard/jobs/x": "GET,HEAD,DELETE",
		"/_reshard/jobs/x/state": "GET,HEAD,PUT",
	} {
		e := router.Find(call.SplitPattern(path))
		require.NotNil(t, e, path)
		require.Equal(t, allow, e.Allow, path)
	}
}

func TestRouterPrecedence(t *testing.T) {
	router := call.NewRouter(server.Routes())
	for path, pattern := range map[string]string{
		"/_up": "/_up", "/_up/x/y": "/_up/{rest...}", "/_foo": "/{db}", "/db/_foo": "/{db}/{id}", "/db/_design": "/{db}/{id}",
		"/db/_design/d/_view/v": "/{db}/_design/{name}/_view/{view}", "/db/_design/d/_other/v": "/{db}/_design/{name}/{attachment...}",
		"/db/_local": "/{db}/_local", "/db/_local/a/b": "/{db}/_local/{name}/{rest...}", "/db/_compact/d/x": "/{db}/_compact/{ddoc}/{rest...}",
		"/_node/n/_config/a/b/c": "/_node/{node}/{rest...}", "/_node/n/_stats/a/b": "/_node/{node}/_stats/{path...}",
		"/db/_partition/p/_all_docs": "/{db}/_partition/{partition}/{rest...}", "/_reshard/nosuch": "/_reshard/{rest...}",
	} {
		e := router.Find(call.SplitPattern(path))
		require.NotNil(t, e, path)
		require.Equal(t, pattern, e.Pattern, path)
	}
}

// TestEveryRowCanBeReached: no row is hidden by another one, and methods are spelt as HTTP has
// them.
func TestEveryRowCanBeReached(t *testing.T) {
	all := server.Routes()
	router := call.NewRouter(all)
	for i := range all {
		r := &all[i]
		path := make([]string, 0, 8)
		for _, part := range call.SplitPattern(r.Pattern) {
			switch {
			case strings.HasSuffix(part, "...}"):
				path = append(path, "x", "y")
			case part[0] == '{':
				path = append(path, "x")
			default:
				path = append(path, part)
			}
		}
		e := router.Find(path)
		require.NotNil(t, e, r.Pattern)
		require.Equal(t, r.Pattern, e.Pattern)
		for _, m := range strings.Split(r.Methods, ",") {
			if m != "*" {
				require.Equal(t, strings.ToUpper(m), m)
			}
			require.Same(t, r, e.Route(m), r.Pattern)
			require.NotNil(t, r.Handle, r.Pattern)
		}
	}
}

func BenchmarkRouter(b *testing.B) {
	router := call.NewRouter(server.Routes())
	path := []string{"db", "document"}
	b.ReportAllocs()
	for b.Loop() {
		if router.Find(path) == nil {
			b.Fatal("no route")
		}
	}
}
