package servertest

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/indexers"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// Server is a server that ends with its test. Its administrator is admin, with the password secret.
type Server struct {
	*server.Server
	Config *config.Config
	JS     *js.Pool // nil without JavaScript
	t      testing.TB
}

// New starts a server over an empty memory store. Its views are in Language or of Mango.
func New(t testing.TB) *Server {
	t.Helper()
	return Start(t, server.Options{})
}

// NewOn is New over an engine, which ends with the test.
func NewOn(t testing.TB, engine kv.Store) *Server {
	t.Helper()
	store := OpenStore(t, engine)
	return Start(t, server.Options{Store: store, Views: OpenViews(t, store, engine)})
}

// NewQuiet is NewOn with nothing that reads beside the requests: for tests that count reads, or let
// some fail.
func NewQuiet(t testing.TB, engine kv.Store) *Server {
	t.Helper()
	store, err := storage.Open(context.Background(), storage.Options{KV: engine, Manual: true})
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	s := Start(t, server.Options{Store: store, Views: OpenViews(t, store, engine)})
	s.StopFollowers()
	return s
}

// NewAllFields is New with indexes over all fields.
func NewAllFields(t testing.TB) *Server {
	t.Helper()
	engine := memkv.New()
	store := OpenStore(t, engine)
	queue, err := jobs.Open(t.Context(), jobs.Options{KV: engine, Prefix: keyspace.JobsPrefix(), Exclusive: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, queue.Close()) })
	all, err := allfields.New(allfields.Options{Store: store, Jobs: queue, Split: mango.SplitField})
	require.NoError(t, err)
	return Start(t, server.Options{Store: store, Views: OpenViews(t, store, engine), AllFields: all})
}

// NewSearch is New with full-text search, but without JavaScript: its indexes are Mango's.
func NewSearch(t testing.TB) *Server {
	t.Helper()
	engine := memkv.New()
	store := OpenStore(t, engine)
	indexes := OpenSearch(t, search.Options{Store: store, KV: engine})
	return Start(t, server.Options{Store: store, Views: OpenViews(t, store, engine), Search: indexes})
}

// OpenSearch opens search indexes, those of Mango among them, for the time of the test.
func OpenSearch(t testing.TB, o search.Options) *search.Indexes {
	t.Helper()
	o.Languages = map[string]search.Language{mango.Language: mango.Texts{}}
	indexes := search.New(o)
	t.Cleanup(indexes.Close)
	return indexes
}

// OpenStore opens a store for the time of the test.
func OpenStore(t testing.TB, engine kv.Store) *storage.Store {
	t.Helper()
	store, err := storage.Open(context.Background(), storage.Options{KV: engine})
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	return store
}

// Start starts a server with options and sets the hooks of its store. Without a store it is over an
// empty memory store with views in Language or of Mango, without a configuration it has the stock
// one, without a log none.
func Start(t testing.TB, o server.Options) *Server {
	t.Helper()
	if o.Store == nil {
		engine := memkv.New()
		o.Store = OpenStore(t, engine)
		o.Views = OpenViews(t, o.Store, engine)
	}
	if o.Config == nil {
		c, err := config.Load(config.Stock())
		require.NoError(t, err)
		o.Config = c
	}
	hooks := storage.Hooks{Validator: documents.NewValidator(o.Config, o.Views, o.JS), Indexer: o.Views}
	hooks.TimesFrom = func() int64 { return o.Config.Int("couchdb", "time_seq_min_time", 0) }
	hooks.History = server.History(o.Config)
	if o.AllFields != nil {
		hooks.Indexer = indexers.Join(o.Views, o.AllFields)
	}
	if o.Search != nil {
		hooks.Indexer = indexers.Join(hooks.Indexer, o.Search)
	}
	if o.Uses != nil {
		hooks.Indexer, hooks.IndexUsed = indexers.Join(hooks.Indexer, o.Uses), o.Uses.Note
	}
	o.Store.SetHooks(hooks)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	cheap := principal.Hashing{Scheme: principal.SchemePBKDF2, PRF: "sha256", Iterations: 10}
	hash, err := principal.HashAdmin("secret", cheap)
	require.NoError(t, err)
	_, err = o.Config.Set("admins", "admin", hash, false)
	require.NoError(t, err)
	s, err := server.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	return &Server{Server: s, Config: o.Config, JS: o.JS, t: t}
}

// StopFollowers ends what reads the databases beside the requests: replications, and what follows
// the users database. The server has shut down then: it takes no connections and ends feeds, and
// answers Do as before.
func (s *Server) StopFollowers() {
	s.t.Helper()
	require.NoError(s.t, s.Shutdown(context.Background()))
}

// Set changes a setting.
func (s *Server) Set(section, key, value string) {
	s.t.Helper()
	_, err := s.Config.Set(section, key, value, false)
	require.NoError(s.t, err)
}

// Do makes one request of the administrator. Headers are names and values in turn; an empty value
// takes a header away.
func (s *Server) Do(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	var r *http.Request
	if body == "" {
		r = httptest.NewRequest(method, target, nil)
	} else {
		r = httptest.NewRequest(method, target, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
	}
	r.SetBasicAuth("admin", "secret")
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// Anyone is Do without a name and a password.
func (s *Server) Anyone(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	return s.Do(method, target, body, append(headers, "Authorization", "")...)
}

// ETag is the tag of an answer, in the quotes that it has. The header is spelt as CouchDB does, not
// as net/http.
func ETag(w *httptest.ResponseRecorder) string {
	for name, values := range w.Header() {
		if strings.EqualFold(name, "ETag") {
			return values[0]
		}
	}
	return ""
}

// Expect checks status and body of an answer.
func Expect(t testing.TB, w *httptest.ResponseRecorder, status int, body string) {
	t.Helper()
	require.Equal(t, body, w.Body.String())
	require.Equal(t, status, w.Code)
}
