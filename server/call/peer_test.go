package call

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Failed logins are counted for the address of the connection, unless a proxy that is trusted names another one.
func TestPeer(t *testing.T) {
	set := Settings{trustedProxies: parseNetworks("127.0.0.0/8, ::1,192.168.1.1, nonsense")}
	for _, c := range []struct{ remote, forwarded, want string }{
		{"8.8.8.8:1", "1.2.3.4", "8.8.8.8"}, {"127.0.0.1:1", "", "127.0.0.1"}, {"127.0.0.1:1", "6.6.6.6, 1.2.3.4", "1.2.3.4"},
		{"[::1]:1", "1.2.3.4", "1.2.3.4"}, {"192.168.1.2:1", "1.2.3.4", "192.168.1.2"}, {"[::ffff:127.0.0.1]:1", "1.2.3.4", "1.2.3.4"},
		{"192.168.1.1:1", strings.Repeat("x", 65), "192.168.1.1"}, {"pipe", "", "pipe"},
		{"[2001:db8:1:2:3::4]:1", "", "2001:db8:1:2::/64"}, {"127.0.0.1:1", "2001:db8:1:2:9::4", "2001:db8:1:2::/64"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.remote
		r.Header.Set("X-Forwarded-For", c.forwarded)
		require.Equal(t, c.want, (&Head{Request: r, Settings: &set}).Peer(), c)
		if c.remote != "pipe" {
			require.NotEqual(
				t,
				"1.2.3.4",
				(&Head{Request: r, Settings: new(Settings)}).Peer(),
				"nobody is trusted unless configured",
			)
		}
	}
}
