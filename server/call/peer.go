package call

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Peer is the address of the client without its port. Behind a proxy of chttpd/trusted_proxies it
// is the one that the proxy names, so that one client cannot lock an account for all. CouchDB
// believes whoever connects from a private network (mochiweb_request:get(peer)), who then evades
// the lockout or aims it at others. The header of chttpd/peer_header goes before, where it is there
// once and holds an address (couch_httpd:peer); where there are trusted proxies, it counts from
// them only.
func (h *Head) Peer() string {
	name, _ := h.peer()
	return name
}

// PeerNetwork is the key under which failed logins are counted: the client's address, or the
// network that it can choose it from.
func (h *Head) PeerNetwork() string {
	name, ip := h.peer()
	if ip.IsValid() {
		return Network(ip.Unmap())
	}
	return name
}

// peer is the client's address as it is shown; ip is invalid where the text is no address.
func (h *Head) peer() (name string, ip netip.Addr) {
	addr, err := netip.ParseAddrPort(h.Request.RemoteAddr)
	if err != nil {
		return h.Request.RemoteAddr, ip
	}
	ip = addr.Addr().Unmap()
	trusted := slices.ContainsFunc(h.Settings.trustedProxies, func(n netip.Prefix) bool { return n.Contains(ip) })
	if header := h.Settings.peerHeader; header != "" && (trusted || len(h.Settings.trustedProxies) == 0) {
		if values := h.Request.Header.Values(header); len(values) == 1 {
			if named, ok := parseAddress(values[0]); ok {
				return named.String(), named
			}
		}
	}
	if trusted {
		hops := h.Header("X-Forwarded-For")
		if last := strings.TrimSpace(hops[strings.LastIndexByte(hops, ',')+1:]); last != "" && len(last) <= maxPeer {
			named, _ := netip.ParseAddr(last)
			return last, named
		}
	}
	return ip.String(), ip
}

// Network is what an address counts as: an IPv6 client has a network of 64 bits to choose its
// addresses from.
func Network(ip netip.Addr) string {
	if ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			return p.String()
		}
	}
	return ip.String()
}

// maxPeer bounds what a proxy may name: an IPv6 address with its zone.
const maxPeer = 64

// parseAddress reads an address as Erlang's inet:parse_address does: of IPv4 also one of less than
// four numbers, whose last one fills the rest, and numbers that are octal (with a zero in front) or
// hexadecimal (0x).
func parseAddress(text string) (netip.Addr, bool) {
	if strings.Contains(text, ":") {
		ip, err := netip.ParseAddr(text)
		return ip, err == nil && ip.Zone() == ""
	}
	parts := strings.Split(text, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var ip uint64
	for i, part := range parts {
		base, digits := 10, part
		if hex := strings.ToLower(part); strings.HasPrefix(hex, "0x") {
			base, digits = 16, part[2:]
		} else if strings.HasPrefix(part, "0") {
			base = 8
		}
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (4 - i)
		}
		n, err := strconv.ParseUint(digits, base, bits)
		if err != nil {
			return netip.Addr{}, false
		}
		ip = ip<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(ip >> 24), byte(ip >> 16), byte(ip >> 8), byte(ip)}), true
}
