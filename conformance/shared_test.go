package conformance

import (
	"context"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
)

// One server for all tests that only need some server: wire_test.go and kivik_*_test.go. They use
// database names of their own. With COUCHDB_URL set it is that server, so that the tests themselves
// can be checked against the original.
var shared struct {
	once   sync.Once
	server *Server
	dir    string
	addr   string
	err    error
}

// sharedAddr returns host:port of the shared server.
func sharedAddr(t *testing.T) string {
	t.Helper()
	shared.once.Do(func() {
		if target := os.Getenv("COUCHDB_URL"); target != "" {
			u, err := url.Parse(target)
			if err != nil {
				shared.err = err
				return
			}
			shared.addr = u.Host
			return
		}
		if shared.dir, shared.err = os.MkdirTemp("", "settee-shared-"); shared.err != nil {
			return
		}
		// The server outlives the test that happens to come first, so not t.Context().
		shared.server, shared.err = Engines[0].Start(context.Background(), shared.dir)
		if shared.err == nil {
			shared.addr = shared.server.Addr
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.addr
}

func stopShared() {
	if shared.server != nil {
		shared.server.Kill()
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
}

// databaseName makes a fresh database name that tells which test made it.
func databaseName(t *testing.T) string {
	name := strings.ToLower(t.Name())
	name = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' {
			return c
		}
		return '-'
	}, name)
	return NewRun("").fill("$db-") + name
}
