package server_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/admin"
	"github.com/settee-db/settee/server/servertest"
)

// TestExtensions: GET / and GET /_settee list the same extensions, each with requests that the
// route table has; a row of that table which says that it is an extension belongs to one. Those of
// full-text search are there where that is. Who may ask for one may ask for the other.
func TestExtensions(t *testing.T) {
	rows := map[string]bool{}
	own := map[string]bool{}
	for _, r := range server.Routes() {
		for _, method := range strings.Split(r.Methods, ",") {
			rows[method+" "+r.Pattern] = true
		}
		if strings.Contains(r.Doc, "(extension)") && r.Pattern != "/_settee" {
			own[strings.Split(r.Methods, ",")[0]+" "+r.Pattern] = true
		}
	}
	names := make([]string, 0, len(admin.Extensions))
	for _, e := range admin.Extensions {
		names = append(names, e.Name)
		for _, request := range e.Requests {
			_, pattern, _ := strings.Cut(request, " ")
			require.True(t, rows[request] || rows["* "+pattern],
				"%s: %s is no row of the route table", e.Name, request)
			delete(own, request)
		}
	}
	require.True(t, slices.IsSorted(names))
	require.Equal(t, len(names), len(slices.Compact(slices.Clone(names))))
	require.Empty(t, own, "rows that no extension has")

	for s, search := range map[*servertest.Server]bool{
		servertest.New(t): false, servertest.NewSearch(t): true,
	} {
		var welcome struct{ Settee map[string]int }
		var list struct {
			Version    string
			Extensions map[string]struct {
				Version  int
				Requests []string
			}
		}
		require.NoError(t, json.Unmarshal(s.Do("GET", "/", "").Body.Bytes(), &welcome))
		require.NoError(t, json.Unmarshal(s.Do("GET", "/_settee", "").Body.Bytes(), &list))
		require.Len(t, list.Extensions, len(welcome.Settee))
		for _, e := range admin.Extensions {
			got, there := list.Extensions[e.Name]
			require.Equal(t, search || !strings.Contains(e.Name, "search"), there, e.Name)
			require.Equal(t, welcome.Settee[e.Name], got.Version, e.Name)
			if there {
				require.Equal(t, e.Version, got.Version)
				require.Equal(t, e.Requests, got.Requests)
			}
		}
		for _, required := range []string{"false", "true"} {
			s.Set("chttpd", "require_valid_user", required)
			w := s.Anyone("GET", "/", "")
			require.Equal(t, w.Code, s.Anyone("GET", "/_settee", "").Code)
			require.Equal(t, required == "true", w.Code == 401)
		}
	}
}
