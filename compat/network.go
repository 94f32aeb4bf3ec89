package compat

import (
	"fmt"
	"net/netip"
)

// ParseNetwork reads a network in CIDR form, or a single address, which is a network of one. The
// address of an IPv4 client of an IPv6 socket is the IPv4 address.
func ParseNetwork(text string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), nil
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is no network", text)
	}
	addr = addr.Unmap()
	return netip.PrefixFrom(addr, addr.BitLen()), nil
}
