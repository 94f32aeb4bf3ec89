package admin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// GET / in its bytes: with full-text search, whose recordings are of a server without, and without. What a client
// accepts makes no difference.
func TestWelcome(t *testing.T) {
	for features, s := range map[string]*servertest.Server{
		"":                    servertest.New(t),
		`"search","nouveau",`: servertest.NewSearch(t),
	} {
		s.Set("couchdb", "uuid", "u")
		want := `{"couchdb":"Welcome","version":"3.5.0","git_sha":"","uuid":"u","features":[` + features +
			`"access-ready","partitioned","pluggable-storage-engines","reshard","scheduler"],` +
			`"vendor":{"name":"The Apache Software Foundation"}}` + "\n"
		for path, headers := range map[string][]string{
			"/": nil, "/?x=y": nil, "//": nil, "/?pretty=true": nil, "/?callback=f": nil,
			"/?1": {"Accept", "text/html"}, "/?2": {"Accept", "image/png"}, "/?3": {"Accept", ""},
			"/?4": {"User-Agent", "Mozilla/5.0"}, "/?5": {"X-HTTP-Method-Override", "GET"},
		} {
			method := "GET"
			if path == "/?5" {
				method = "POST"
			}
			w := s.Do(method, path, "", headers...)
			require.Equal(t, 200, w.Code, path)
			require.Equal(t, want, w.Body.String(), path)
			require.Equal(t, "must-revalidate", w.Header().Get("Cache-Control"))
		}
	}
}
