package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/functions"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// compiler is an engine that compiles everything and does nothing else.
type compiler struct{ functions.Engine }

func (compiler) Compile(context.Context, *definition.Function) (definition.Compiled, *definition.Error) {
	return definition.Compiled{}, nil
}

// TestFunctionsPort: the port of its own has the paths of Couchbase's eventing service, and nothing
// else of the server.
func TestFunctionsPort(t *testing.T) {
	engine := memkv.New()
	store := servertest.OpenStore(t, engine)
	s := servertest.Start(t, server.Options{
		Store: store, Views: servertest.OpenViews(t, store, engine),
		Functions: registry.New(engine, registry.Hooks{}), FunctionEngine: compiler{},
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- s.ServeFunctions(l) }()
	do := func(method, path, body string) (int, string) {
		r, err := http.NewRequest(method, "http://"+l.Addr().String()+path, strings.NewReader(body))
		require.NoError(t, err)
		r.SetBasicAuth("admin", "secret")
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(text)
	}
	f := `{"appname":"f","appcode":"function OnUpdate(doc,meta){}","depcfg":{"source_bucket":"a"}}`
	status, text := do("POST", "/api/v1/functions/f", f)
	require.Equal(t, 200, status, text)
	status, text = do("GET", "/api/v1/functions/f?bucket=*&scope=*", "")
	require.Equal(t, 200, status, text)
	var shown struct{ Appname string }
	require.NoError(t, json.Unmarshal([]byte(text), &shown))
	require.Equal(t, "f", shown.Appname)
	status, below := do("GET", "/_p/event/api/v1/functions/f", "") // as the cluster manager has it
	require.Equal(t, 200, status, below)
	require.Equal(t, text, below)
	status, _ = do("GET", "/_p/eventing/api/v1/functions/f", "")
	require.Equal(t, 404, status)
	status, _ = do("GET", "/getErrorCodes", "")
	require.Equal(t, 200, status)
	for _, path := range []string{"/", "/_all_dbs", "/_node/_local/_config"} {
		status, text = do("GET", path, "")
		require.GreaterOrEqual(t, status, 400, text)
	}
	require.Equal(t, 200, s.Do("GET", functions.Mount+"/api/v1/functions/f", "").Code)
	require.NoError(t, s.Shutdown(context.Background()))
	require.NoError(t, <-served)
}
