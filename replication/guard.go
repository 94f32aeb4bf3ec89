package replication

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"github.com/settee-db/settee/compat"
)

// Guard is the policy of which network addresses replications may connect to. It looks at the
// address of each connection after names were resolved and redirects followed, so no name leads
// around it. The zero Guard allows everything. It is immutable and safe for concurrent use.
type Guard struct {
	// Empty: every address that is not denied.
	allow []netip.Prefix
	deny  []netip.Prefix
	own   bool // the addresses of this machine's interfaces are denied, too
}

// NoNetworks is the policy that refuses every address.
func NoNetworks() *Guard {
	return &Guard{
		deny: []netip.Prefix{
			netip.PrefixFrom(netip.IPv4Unspecified(), 0),
			netip.PrefixFrom(netip.IPv6Unspecified(), 0),
		},
	}
}

// AddressError is a connection the policy refuses.
type AddressError struct{ Address string }

// Error implements error.
func (e *AddressError) Error() string {
	return "address " + e.Address + " is not allowed for replications"
}

// ownAddresses stands in a list of denied networks for the addresses that the interfaces of this
// machine have when a connection is made.
const ownAddresses = "own"

// ParseGuard reads lists of networks in CIDR form or single addresses, separated by commas; what is
// denied may have the word own, for the addresses of this machine. An address must be in one of the
// allowed networks, if there are any, and in none of the denied ones. The same holds for the IPv4
// address that an IPv6 address stands for.
func ParseGuard(allow, deny string) (*Guard, error) {
	g := new(Guard)
	var err error
	if g.allow, err = parseNetworks(split(allow)); err != nil {
		return nil, err
	}
	words := split(deny)
	words = slices.DeleteFunc(words, func(word string) bool {
		g.own = g.own || word == ownAddresses
		return word == ownAddresses
	})
	g.deny, err = parseNetworks(words)
	return g, err
}

// split splits a list, separated by commas, into its words.
func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
}

func parseNetworks(list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range list {
		p, err := compat.ParseNetwork(text)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// Allows reports whether an address may be connected to.
func (g *Guard) Allows(addr netip.Addr) bool {
	if g == nil {
		return true
	}
	// ::ffff:10.0.0.1 is 10.0.0.1, and a zone says only by which interface an address is reached.
	addr = addr.Unmap().WithZone("")
	if inner, ok := standsFor(addr); ok && !g.Allows(inner) {
		return false
	}
	if len(g.allow) > 0 && !within(g.allow, addr) {
		return false
	}
	return !within(g.deny, addr) && !(g.own && isOwn(addr))
}

// translated are the networks of IPv6 whose addresses have one of IPv4 in them, and where: those of
// NAT64 (RFC 6052, RFC 8215), of 6to4 (RFC 3056), and compatible addresses (RFC 4291). A gateway
// may lead there.
var translated = []struct {
	network netip.Prefix
	at      int
	// Where in the sixteen bytes the IPv4 address begins.
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
	{netip.MustParsePrefix("::/96"), 12},
}

// standsFor is the IPv4 address that an IPv6 address has in it.
func standsFor(addr netip.Addr) (inner netip.Addr, ok bool) {
	if addr.IsLoopback() || addr.IsUnspecified() {
		return inner, false
	}
	for _, t := range translated {
		if t.network.Contains(addr) {
			bytes := addr.As16()
			return netip.AddrFrom4([4]byte(bytes[t.at : t.at+4])), true
		}
	}
	return inner, false
}

// isOwn reports whether an interface of this machine has the address. Where that cannot be found
// out it has.
func isOwn(addr netip.Addr) bool {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok {
			if own, ok := netip.AddrFromSlice(n.IP); ok && own.Unmap() == addr {
				return true
			}
		}
	}
	return false
}

func within(networks []netip.Prefix, addr netip.Addr) bool {
	for _, p := range networks {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// control is a net.Dialer's Control: it sees the address of every attempt to connect.
func (g *Guard) control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !g.Allows(ap.Addr()) {
		return &AddressError{Address: address}
	}
	return nil
}
