package replication

import (
	"net/netip"
	"strings"
	"syscall"

	"github.com/settee-db/settee/compat"
)

// Guard is the policy of which network addresses replications may connect to. It looks at the address of each
// connection after names were resolved and redirects followed, so no name leads around it. The zero Guard allows
// everything. It is immutable and safe for concurrent use.
type Guard struct {
	allow []netip.Prefix // empty: every address
	deny  []netip.Prefix
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

// ParseGuard reads lists of networks in CIDR form or single addresses, separated by commas. An address must be in one
// of the allowed networks, if there are any, and in none of the denied ones.
func ParseGuard(allow, deny string) (*Guard, error) {
	g := new(Guard)
	var err error
	if g.allow, err = parseNetworks(allow); err != nil {
		return nil, err
	}
	g.deny, err = parseNetworks(deny)
	return g, err
}

func parseNetworks(list string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
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
	addr = addr.Unmap().WithZone("")
	if len(g.allow) > 0 && !within(g.allow, addr) {
		return false
	}
	return !within(g.deny, addr)
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
