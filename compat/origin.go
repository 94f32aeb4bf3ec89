package compat

import (
	"net/url"
	"strings"
)

// SameOrigin reports whether two URLs have the same scheme, host and port, as browsers compare
// them: what is secret between a client and one origin is no other origin's.
func SameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

// portOf is the port of a URL, the usual one of its scheme where it names none.
func portOf(u *url.URL) string {
	switch port := u.Port(); {
	case port != "":
		return port
	case u.Scheme == "https":
		return "443"
	case u.Scheme == "http":
		return "80"
	}
	return ""
}
