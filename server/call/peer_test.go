package call

import (
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Failed logins are counted for the address of the connection, unless a proxy that is trusted names
// another one; of an IPv6 address for its network.
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
		require.Equal(t, c.want, (&Head{Request: r, Settings: &set}).PeerNetwork(), c)
		if c.remote != "pipe" {
			require.NotEqual(
				t,
				"1.2.3.4",
				(&Head{Request: r, Settings: new(Settings)}).PeerNetwork(),
				"nobody is trusted unless configured",
			)
		}
	}
}

// The header of peer_header names the client where it is there once and holds one address: as
// CouchDB's main answers functions that show req.peer (recording next-auth/peer-header). Where
// proxies are named, only they are believed.
func TestPeerHeader(t *testing.T) {
	peer := func(set Settings, remote string, values ...string) *Head {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = remote
		r.Header.Set("X-Forwarded-For", "3.3.3.3")
		r.Header["X-Real-Ip"] = values
		return &Head{Request: r, Settings: &set}
	}
	header := Settings{peerHeader: "x-real-ip"}
	for value, want := range map[string]string{
		"9.9.9.9": "9.9.9.9", "::1": "::1", "2001:DB8:0:0::1": "2001:db8::1", "::ffff:1.2.3.4": "::ffff:1.2.3.4",
		"1.2": "1.0.0.2", "127.1": "127.0.0.1", "0x7f.1": "127.0.0.1", "1": "0.0.0.1", "010.0.0.1": "8.0.0.1",
		"1.2.3": "1.2.0.3", "1.65536": "1.1.0.0", "0": "0.0.0.0", "4294967295": "255.255.255.255",
		"": "", "[::1]": "", "9.9.9.9, 8.8.8.8": "", "9.9.9.9:80": "", "host": "", "999.1.1.1": "", "1..2": "",
		"1.2.3.4.5": "", "08.1.1.1": "", "0x": "", "1.2.3.256": "", "4294967296": "", "fe80::1%eth0": "", "+1.2.3.4": "",
		"1_0.1.1.1": "", " 1.2.3.4": "",
	} {
		if want == "" {
			want = "5.5.5.5"
		}
		require.Equal(t, want, peer(header, "5.5.5.5:1", value).Peer(), value)
	}
	require.Equal(t, "5.5.5.5", peer(header, "5.5.5.5:1", "9.9.9.9", "8.8.8.8").Peer(), "one may be the client's own")
	require.Equal(t, "5.5.5.5", peer(Settings{}, "5.5.5.5:1", "9.9.9.9").Peer())
	require.Equal(t, "2001:db8:1:2::/64", peer(header, "5.5.5.5:1", "2001:db8:1:2:3::4").PeerNetwork())
	require.Equal(t, "1.2.3.4", peer(header, "5.5.5.5:1", "::ffff:1.2.3.4").PeerNetwork())
	trusting := Settings{peerHeader: "X-Real-IP", trustedProxies: parseNetworks("127.0.0.0/8")}
	require.Equal(t, "9.9.9.9", peer(trusting, "127.0.0.1:1", "9.9.9.9").Peer())
	require.Equal(t, "5.5.5.5", peer(trusting, "5.5.5.5:1", "9.9.9.9").Peer(), "no proxy")
	require.Equal(t, "3.3.3.3", peer(trusting, "127.0.0.1:1", "host").Peer())
}

// FuzzParseAddress: what is an address is one in the form in which it is shown, too.
func FuzzParseAddress(f *testing.F) {
	for _, seed := range []string{"1.2.3.4", "0x7f.1", "::ffff:1.2.3.4", "017700000001", "1..", "fe80::1%x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ip, ok := parseAddress(text)
		if again, known := parseAddress(ip.String()); ok && (!known || again != ip) {
			t.Fatal(text, ip)
		}
		if full, err := netip.ParseAddr(text); err == nil && full.Zone() == "" && (!ok || full != ip) {
			t.Fatal(text, ip, "an address in its usual form")
		}
	})
}
