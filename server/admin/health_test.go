package admin_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// ill is an engine that says how it is: that it works, or why not.
type ill struct {
	kv.Store
	err error
}

// Health implements kv.Store.
func (s *ill) Health(context.Context) error { return s.err }

// /_up tells load balancers that the server is about to stop; all else is answered still.
func TestUpWhileTheServerDrains(t *testing.T) {
	s := servertest.New(t)
	s.Drain()
	servertest.Expect(t, s.Do("GET", "/_up", ""), http.StatusServiceUnavailable,
		`{"status":"draining","reason":"The server is stopping."}`+"\n")
	if code := s.Do("PUT", "/db", "").Code; code != http.StatusCreated {
		t.Errorf("status %d", code)
	}
}

// /_up tells load balancers that the store takes no writes or is away, and says nothing of the
// machine to whoever asks.
func TestUpTellsOfTheStore(t *testing.T) {
	store := &ill{Store: memkv.New()}
	s := servertest.NewOn(t, store)
	servertest.Expect(t, s.Do("GET", "/_up", ""), http.StatusOK, "{\"status\":\"ok\",\"seeds\":{}}\n")
	for _, c := range []struct {
		err    error
		reason string
	}{
		{fmt.Errorf("%w: /data: read-only file system", kv.ErrUnwritable), "The data directory cannot be written: the store reads, writes are refused."},
		{fmt.Errorf("%w: /data: 5 bytes are free", kv.ErrFull), "No space is left for the store: it reads, deletes, purges and compacts; other writes are refused."},
		{fmt.Errorf("%w: /data/000004.log", kv.ErrCorrupt), "The store is corrupt."},
		{errors.New("pebblekv: writing has failed: /data/x"), "The store has failed: writes are refused."},
	} {
		store.err = c.err
		servertest.Expect(
			t,
			s.Do("GET", "/_up", ""),
			http.StatusServiceUnavailable,
			`{"status":"unavailable","reason":"`+c.reason+"\"}\n",
		)
	}
	s.Set("couchdb", "maintenance_mode", "nolb")
	servertest.Expect(t, s.Do("GET", "/_up", ""), http.StatusNotFound, "{\"status\":\"nolb\"}\n")
}
