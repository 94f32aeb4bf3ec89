package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv"
)

// ill is a store that works, does not work, or does not answer.
type ill struct {
	answer func(ctx context.Context) error
}

func (s *ill) Health(ctx context.Context) error {
	return s.answer(ctx)
}

// /_up tells load balancers that the store takes no writes or is away, and says nothing of the machine to whoever asks.
func TestUpTellsOfTheStore(t *testing.T) {
	s := newTestServer(t)
	store := &ill{answer: func(context.Context) error { return nil }}
	s.admin.AskHealthOf(store)
	expect(t, do(s, "GET", "/_up", ""), http.StatusOK, "{\"status\":\"ok\",\"seeds\":{}}\n")
	for _, c := range []struct {
		err    error
		reason string
	}{
		{fmt.Errorf("%w: /data: 5 bytes are free", kv.ErrFull), "No space is left for the store: it reads, deletes, purges and compacts; other writes are refused."},
		{fmt.Errorf("%w: /data/000004.log", kv.ErrCorrupt), "The store is corrupt."},
		{errors.New("pebblekv: writing has failed: /data/x"), "The store has failed: writes are refused."},
	} {
		store.answer = func(context.Context) error { return c.err }
		expect(
			t,
			do(s, "GET", "/_up", ""),
			http.StatusServiceUnavailable,
			`{"status":"unavailable","reason":"`+c.reason+"\"}\n",
		)
	}
	_, err := s.env.Config.Set("couchdb", "maintenance_mode", "nolb", false)
	require.NoError(t, err)
	expect(t, do(s, "GET", "/_up", ""), http.StatusNotFound, "{\"status\":\"nolb\"}\n")
}
