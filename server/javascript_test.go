package server

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/config"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/views"
	"github.com/settee-db/settee/views/js"
)

func TestMain(m *testing.M) {
	js.RunWorkerIfAsked()
	os.Exit(m.Run())
}

// newDesignServer is a server with JavaScript and the database db, which everybody may use.
func newDesignServer(t testing.TB) *Server {
	t.Helper()
	c, err := config.Load(config.Stock())
	require.NoError(t, err)
	s := newTestServerJS(t, c)
	require.Equal(t, 201, do(s, "PUT", "/db", "").Code)
	require.Equal(
		t,
		200,
		do(s, "PUT", "/db/_security", `{"admins":{"names":["x"]},"members":{"names":[],"roles":[]}}`).Code,
	)
	return s
}

// newTestServerJS is newTestServer with JavaScript.
func newTestServerJS(t testing.TB, c *config.Config) *Server {
	t.Helper()
	engine := memkv.New()
	pool := js.NewPool(js.Options{Timeout: time.Minute})
	t.Cleanup(pool.Close)
	store, err := storage.Open(t.Context(), storage.Options{KV: engine})
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	v, err := views.Open(views.Options{Store: store, KV: engine, JS: pool})
	require.NoError(t, err)
	t.Cleanup(func() { v.Close() })
	return startTestServer(t, Options{Store: store, Views: v, JS: pool, Config: c})
}

func putDesign(t testing.TB, s *Server, name, body string) {
	t.Helper()
	w := do(s, "PUT", "/db/_design/"+name, body)
	require.Equal(t, 201, w.Code, w.Body.String())
}
