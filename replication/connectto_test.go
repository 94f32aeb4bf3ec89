package replication

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRoutes: what couch_replicator_connect's own tests and its comments say of the setting.
func TestRoutes(t *testing.T) {
	routes, bad := ParseRoutes("a.example:443:10.0.0.1:8443, *.wild.example:443:Proxy.internal:8443,,*:81:[2001:db8::1]:82," +
		"a.example:443:second:1, x:1:2, [::1]:1:a:2, :1:a:2, a:b:c:d, a:1:::2, a:1:b:70000, a:1:b:2:3,a:99999999999999999999:b:1")
	require.Equal(t, []string{
		"x:1:2", "[::1]:1:a:2", ":1:a:2", "a:b:c:d", "a:1:::2", "a:1:b:70000", "a:1:b:2:3", "a:99999999999999999999:b:1",
	}, bad)
	for from, want := range map[string]string{
		"a.example 443": "10.0.0.1:8443", "A.Example 443": "10.0.0.1:8443", "a.example 444": "", "b.a.example 443": "",
		"x.wild.example 443": "Proxy.internal:8443", "x.Y.wild.example 443": "Proxy.internal:8443", "wild.example 443": "",
		"anything 81": "[2001:db8::1]:82", "anything 80": "",
	} {
		host, port, _ := strings.Cut(from, " ")
		n := map[string]int{"443": 443, "444": 444, "81": 81, "80": 80}[port]
		to, ok := routes.find(host, n)
		require.Equal(t, want, to, from)
		require.Equal(t, want != "", ok, from)
	}
}

type total struct{ n atomic.Int64 }

func (c *total) Add(n int64) { c.n.Add(n) }

// TestConnectTo: requests go where the setting says at the time, with the Host of their URL, and
// are counted.
func TestConnectTo(t *testing.T) {
	asked := make(chan string, 10)
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Host
		_, _ = w.Write([]byte(`{"db_name":"db","instance_start_time":"0","update_seq":"0"}`))
	}))
	defer here.Close()
	set, setting, counted := DefaultSettings(), "", new(total)
	set.SessionAuth, set.Retries = false, 0
	set.Counters.ConnectTo = Counter{To: counted}
	set.ConnectTo = func() Routes { routes, _ := ParseRoutes(setting); return routes }
	open := func() error {
		o := Options{Timeout: set.Timeout, Connections: 2}
		p := NewHTTPPeer(&Endpoint{URL: "http://nowhere.invalid:5984/db/"}, &o, &set)
		defer p.Close()
		_, err := p.Info(t.Context())
		return err
	}
	require.Error(t, open())
	require.Zero(t, counted.n.Load())
	setting = "*.invalid:5984:" + strings.TrimPrefix(here.URL, "http://")
	require.NoError(t, open())
	require.Equal(t, "nowhere.invalid:5984", <-asked)
	require.EqualValues(t, 1, counted.n.Load())
	setting = ""
	require.Error(t, open())
}

func FuzzParseRoutes(f *testing.F) {
	f.Add("*.example.com:443:[2001:db8::1]:8443, a:1:b:2", "x.example.com", 443)
	f.Fuzz(func(t *testing.T, setting, host string, port int) {
		routes, bad := ParseRoutes(setting)
		if _, ok := routes.find(host, port); ok && len(routes) == 0 {
			t.Fatal(bad)
		}
	})
}
