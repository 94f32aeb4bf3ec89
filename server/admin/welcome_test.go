package admin_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// GET / in its bytes up to what CouchDB has not: with full-text search, whose recordings are of a
// server without, and without. What a client accepts makes no difference.
func TestWelcome(t *testing.T) {
	for features, s := range map[string]*servertest.Server{
		"":                    servertest.New(t),
		`"search","nouveau",`: servertest.NewSearch(t),
	} {
		s.Set("couchdb", "uuid", "u")
		want := `{"couchdb":"Welcome","version":"3.5.2","git_sha":"","uuid":"u","features":[` + features +
			`"access-ready","partitioned","pluggable-storage-engines","reshard","scheduler"],` +
			`"vendor":{"name":"The Apache Software Foundation"}}`
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
			couchdb, own, _ := strings.Cut(w.Body.String(), `,"settee":`)
			require.Equal(t, want, couchdb+"}", path)
			require.Regexp(t, `^\{("[a-z_]+":1,?)+\}\}\n$`, own, path)
			require.Equal(t, "must-revalidate", w.Header().Get("Cache-Control"))
		}
	}
}

// TestUUIDSettings: new ids are of the algorithm that is set, else of the default of the CouchDB
// that is followed; a format that is unknown refuses ids that the server would make, and those
// only.
func TestUUIDSettings(t *testing.T) {
	s := servertest.New(t)
	sequential, v7 := "[0-9a-f]{32}", "[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}"
	first := s.Do("GET", "/_uuids?count=2", "").Body.String()
	require.Regexp(t, `^\{"uuids":\["([0-9a-f]{26})[0-9a-f]{6}","([0-9a-f]{26})[0-9a-f]{6}"\]\}`, first)
	require.Equal(t, first[11:37], first[46:72], "one prefix: sequential")
	for _, step := range []struct{ section, key, value, want string }{
		{"settee", "compatibility", "3.6", v7},
		{"uuids", "algorithm", "sequential", sequential},
		{"uuids", "algorithm", "uuid_v4", "[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}"},
		{"uuids", "format", "rfc9562", "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"},
		{"uuids", "format", "base_36", "[0-9a-z]{25}"},
		{"uuids", "algorithm", "random", "[0-9a-f]{32}"},
	} {
		s.Set(step.section, step.key, step.value)
		body := s.Do("GET", "/_uuids", "").Body.String()
		require.Regexp(t, `^\{"uuids":\["`+step.want+`"\]\}\n$`, body, step)
	}
	s.Set("uuids", "format", "hex")
	require.Equal(t, 200, s.Do("GET", "/_uuids", "").Code, "the algorithm random has no format")
	s.Set("uuids", "algorithm", "uuid_v7")
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/named", "{}").Code)
	for path, body := range map[string]string{"/db": "{}", "/db/_bulk_docs": `{"docs":[{}]}`, "/_uuids": ""} {
		method := "POST"
		if body == "" {
			method = "GET"
		}
		w := s.Do(method, path, body)
		require.Equal(t, 500, w.Code, path)
		require.Contains(t, w.Body.String(), `{"error":"unsupported_uuid_format","reason":"hex","ref":`, path)
	}
	require.Contains(t, s.Do("GET", "/db", "").Body.String(), `"doc_count":1,`)
}
