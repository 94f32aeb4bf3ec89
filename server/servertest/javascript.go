package servertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/views"
)

// NewJS is a server with JavaScript and the database db, which everybody may use. The test's
// TestMain has to call js.RunWorkerIfAsked.
func NewJS(t testing.TB) *Server {
	t.Helper()
	return NewJSOn(t, memkv.New())
}

// NewJSOn is NewJS over an engine, which ends with the test.
func NewJSOn(t testing.TB, engine kv.Store) *Server {
	t.Helper()
	pool := js.NewPool(js.Options{Timeout: time.Minute})
	t.Cleanup(pool.Close)
	store := OpenStore(t, engine)
	v, err := views.Open(views.Options{
		Store: store, KV: engine, JS: pool, Languages: map[string]views.Language{mango.Language: mango.Views{}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { v.Close() })
	indexes := OpenSearch(t, search.Options{Store: store, KV: engine, JS: pool})
	s := Start(t, server.Options{Store: store, Views: v, JS: pool, Search: indexes})
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	security := `{"admins":{"names":["x"]},"members":{"names":[],"roles":[]}}`
	require.Equal(t, 200, s.Do("PUT", "/db/_security", security).Code)
	return s
}

// PutDesign stores a new design document in the database db.
func (s *Server) PutDesign(name, body string) {
	s.t.Helper()
	w := s.Do("PUT", "/db/_design/"+name, body)
	require.Equal(s.t, 201, w.Code, w.Body.String())
}
