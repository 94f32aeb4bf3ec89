package functions_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/server/servertest"
)

// TestExchange: functions go from one server to another with an export, and to other databases with
// a backup.
func TestExchange(t *testing.T) {
	x, y := newFixture(t), newFixture(t)
	x.run([]step{
		{"POST", "/functions/f", function(`"buckets"`, `"curl":[{"hostname":"http://h","value":"api",`+
			`"auth_type":"bearer","bearer_key":"k"}],"buckets"`), 200, 0, ""},
		{"POST", "/functions/g?bucket=c&scope=_default", function(`"f"`, `"g"`, `"a"`, `"c"`), 200, 0, ""},
		{"POST", "/functions/f/deploy", "", 200, 0, ""},
		{"settle", "", "", 0, 0, ""},
		{"GET", "/backup?include=a&exclude=b", "", 400, 63, ""},
		{"GET", "/backup?include=a.x", "", 400, 56, ""},
	})
	exported := x.Do("GET", base+"/export", "").Body.String()
	require.NotContains(t, exported, `"deployment_status": true`)
	y.run([]step{{"POST", "/import", exported, 200, 0, "has no password or key"}})
	var f struct{ Settings map[string]any }
	y.get("/functions/f", &f)
	require.EqualValues(t, 2, f.Settings["worker_count"])
	y.get("/functions/g?bucket=c&scope=_default", &f)
	y.run([]step{
		{"GET", "/functions/g", "", 404, 13, ""},
		{"POST", "/import", "[" + function(`"f"`, `"old"`) + "]", 200, 0, ""},
		{"GET", "/functions/old/settings", "", 200, 0, `"language_compatibility": "6.0.0"`},
	})

	for query, want := range map[string][]string{
		"": {"f", "g"}, "?include=a": {"f"}, "?exclude=a._default": {"g"}, "?include=c,a": {"f", "g"}, "?include=x": {},
	} {
		var list []struct{ Appname string }
		x.get("/backup"+query, &list)
		names := []string{}
		for _, one := range list {
			names = append(names, one.Appname)
		}
		require.Equal(t, want, names, query)
	}
	z := newFixture(t)
	z.run([]step{
		{"POST", "/backup?include=c&remap=c:a,b._default._default:c", exported, 200, 0, "Successfully stored"},
		{"GET", "/functions/g?bucket=a&scope=_default", "", 200, 0, `"source_bucket": "a"`},
		{"GET", "/functions/g?bucket=a&scope=_default", "", 200, 0, `"bucket_name": "c"`},
		{"GET", "/functions/f", "", 404, 13, ""},
		{"POST", "/backup?remap=x", exported, 400, 63, ""},
	})
}

// TestAccess: server admins manage all, others what is theirs, nobody nothing.
func TestAccess(t *testing.T) {
	x := newFixture(t)
	for db, security := range map[string]string{
		"a": `{"admins":{"names":["joe0","joe1"]},"members":{"names":["joe2"]}}`,
		"b": `{"admins":{"names":["joe0"]},"members":{"names":["joe1"]}}`,
		"c": `{"admins":{"names":["x"]},"members":{"names":["joe0"]}}`,
	} {
		require.Equal(t, 200, x.Do("PUT", "/"+db+"/_security", security).Code)
	}
	paths := []step{
		{"GET", "/functions/f", "", 200, 0, ""}, {"GET", "/functions/f/settings", "", 200, 0, ""},
		{"GET", "/functions/f/config", "", 200, 0, ""}, {"GET", "/functions/f/appcode", "", 200, 0, ""},
		{"GET", "/functions/f/appcode/checksum", "", 200, 0, ""}, {"GET", "/status/f", "", 200, 0, ""},
		{"GET", "/stats/f", "", 200, 0, ""}, {"GET", "/getAppLog?name=f", "", 200, 0, ""},
		{"POST", "/functions/f", function(), 200, 0, ""}, {"POST", "/functions/f/settings", "{}", 200, 0, ""},
		{"POST", "/functions/f/appcode", "x", 200, 0, ""}, {"POST", "/functions/f/test", "{}", 200, 0, ""},
		{"POST", "/functions/f/config", `{"source_bucket":"a","buckets":[{"alias":"dst","bucket_name":"b",` +
			`"access":"rw"}]}`, 200, 0, ""},
		{"POST", "/functions/f/deploy", "", 200, 0, ""},
	}
	refused := func(status, code int) []step {
		list := append([]step(nil), paths...)
		for i := range list {
			list[i].status, list[i].code = status, code
		}
		return list
	}
	x.run([]step{{"POST", "/functions/f", function(), 200, 0, ""}})
	x.run(refused(401, 61), "Authorization", "")
	x.run(refused(403, 60), servertest.As("joe1")...) // no admin of b
	x.run(refused(403, 60), servertest.As("joe2")...) // no admin of a
	x.run([]step{{"GET", "/functions/unknown", "", 404, 13, ""}}, servertest.As("joe2")...)
	x.run(paths, servertest.As("joe0")...)
	r, err := x.reg.Get(t.Context(), definition.Ref{Scope: definition.Global, Name: "f"})
	require.NoError(t, err)
	require.Equal(t, registry.Principal{Name: "joe0", Roles: []string{"r"}}, r.Owner)

	x.run([]step{{"POST", "/functions/admins", function(`"f"`, `"admins"`, `"a"`, `"c"`), 200, 0, ""}})
	for user, want := range map[string][]string{"joe0": {"f"}, "joe1": {}, "joe2": {}} {
		var list struct{ Functions []string }
		x.get("/list/functions", &list, servertest.As(user)...)
		require.Equal(t, want, list.Functions, user)
		var all []any
		x.get("/export", &all, servertest.As(user)...)
		require.Len(t, all, len(want))
		x.get("/functions", &all, servertest.As(user)...)
		require.Len(t, all, len(want))
	}
	// What a user may not write, statements of the user's function may not write either; what may
	// be read may be read.
	x.run([]step{
		{"POST", "/functions/q", function(`"f"`, `"q"`, `(doc,meta){}`, `(){INSERT INTO c }`), 200, 0, ""},
		{"POST", "/functions/q/deploy", "", 403, 60, ""},
		{"POST", "/functions/r", function(`"f"`, `"r"`, `"bucket_name":"b","access":"rw"`,
			`"bucket_name":"c","access":"r"`), 200, 0, ""},
		{"POST", "/functions/w", function(`"f"`, `"w"`, `"bucket_name":"b"`, `"bucket_name":"c"`), 403, 60, ""},
		{"POST", "/functions/l", function(`"f"`, `"l"`, `"worker_count":2`, `"dead_letter_database":"c"`), 403, 60, ""},
		{"POST", "/functions/s", function(`"f"`, `"s"`, `"a"`, `"_users"`), 403, 60, ""},
		{"POST", "/functions/m", function(`"f"`, `"m"`, `"a"`, `"missing"`), 403, 60, ""},
		{"POST", "/functions/f/config", `{"source_bucket":"a"}`, 400, 63, ""}, // deploying
		{"GET", "/config", "", 403, 60, ""},
		{"POST", "/config", "{}", 403, 60, ""},
		{"GET", "/_prometheusMetrics", "", 403, 60, ""},
	}, servertest.As("joe0")...)
	x.run([]step{
		{"GET", "/functions", "", 401, 61, ""}, {"GET", "/status", "", 401, 61, ""}, {"GET", "/stats", "", 401, 61, ""},
		{"POST", "/functions", "[]", 401, 61, ""}, {"POST", "/import", "[]", 401, 61, ""},
		{"GET", "/export", "", 401, 61, ""}, {"GET", "/list/functions", "", 401, 61, ""},
		{"DELETE", "/functions", "", 401, 61, ""}, {"GET", "/config", "", 401, 61, ""},
	}, "Authorization", "")
}

// TestWithoutEngine: a server that does not run functions has no paths for them.
func TestWithoutEngine(t *testing.T) {
	s := servertest.New(t)
	w := s.Do("GET", base+"/functions", "")
	require.NotEqual(t, 200, w.Code)
	require.Empty(t, w.Header()["Status"])
}

// TestConcurrentChanges: of changes to different settings at the same time none is lost.
func TestConcurrentChanges(t *testing.T) {
	x := newFixture(t)
	x.run([]step{{"POST", "/functions/f", function(), 200, 0, ""}})
	bodies := []string{`{"worker_count":7}`, `{"execution_timeout":7}`, `{"hop_limit":7}`, `{"max_retries":7}`}
	codes := make(chan int, len(bodies))
	for _, body := range bodies {
		go func() { codes <- x.Do("POST", base+"/functions/f/settings", body).Code }()
	}
	for range bodies {
		select {
		case code := <-codes:
			require.Equal(t, 200, code)
		case <-time.After(time.Minute):
			t.Fatal("no answer")
		}
	}
	var s map[string]any
	x.get("/functions/f/settings", &s)
	for _, name := range []string{"worker_count", "execution_timeout", "hop_limit", "max_retries"} {
		require.EqualValues(t, 7, s[name], name)
	}
}
