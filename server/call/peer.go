package call

import (
	"net/netip"
	"slices"
	"strings"
)

// Peer is the address of the client without its port. Behind a proxy of chttpd/trusted_proxies it is the one that the
// proxy names, so that one client cannot lock an account for all. CouchDB believes whoever connects from a private
// network (mochiweb_request:get(peer)), who then evades the lockout or aims it at others.
func (h *Head) Peer() string {
	addr, err := netip.ParseAddrPort(h.Request.RemoteAddr)
	if err != nil {
		return h.Request.RemoteAddr
	}
	ip := addr.Addr().Unmap()
	if slices.ContainsFunc(h.Settings.trustedProxies, func(network netip.Prefix) bool { return network.Contains(ip) }) {
		hops := h.Header("X-Forwarded-For")
		if last := strings.TrimSpace(hops[strings.LastIndexByte(hops, ',')+1:]); last != "" && len(last) <= maxPeer {
			if named, err := netip.ParseAddr(last); err == nil {
				return Network(named.Unmap())
			}
			return last
		}
	}
	return Network(ip)
}

// Network is what an address counts as: an IPv6 client has a network of 64 bits to choose its addresses from.
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
