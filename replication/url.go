package replication

import (
	"net/netip"
	"strconv"
	"strings"
)

// peerURL is a URL cut up as CouchDB's HTTP client does it (ibrowse_lib:parse_url).
type peerURL struct {
	scheme string
	user   string // before the first colon of what stands before @
	pass   string
	creds  bool // there is something before @
	colon  bool // and a colon in it
	host   string
	port   int
	path   string // with the query, at least "/"
	prefix string // scheme and "://"
	rest   string // all from the host on
}

// defaultPorts are the ports of the schemes that ibrowse knows.
var defaultPorts = map[string]int{"http": 80, "https": 443, "ftp": 21, "socks5": 1080}

// parseURL cuts up a URL; ok is false where ibrowse_lib:parse_url fails.
func parseURL(text string) (u peerURL, ok bool) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found || scheme == "" {
		return u, false
	}
	standard, known := defaultPorts[scheme]
	if !known {
		return u, false
	}
	u.scheme, u.prefix, u.port = scheme, scheme+"://", standard
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	if i := strings.IndexByte(authority, '@'); i >= 0 {
		u.creds = true
		u.user, u.pass, u.colon = strings.Cut(authority[:i], ":")
		authority = authority[i+1:]
	}
	u.rest = authority + tail
	switch {
	case tail == "":
		u.path = "/"
	case tail[0] == '?':
		u.path = "/" + tail
	default:
		u.path = tail
	}
	return u, u.setHost(authority)
}

// setHost takes the host and the port out of the authority, without its credentials; false if these
// are no address. An IPv6 address stands in brackets, which do not become part of the host; an
// empty port, as in "host:", means the usual one.
func (u *peerURL) setHost(authority string) bool {
	var port string
	var hasPort bool
	if inner, v6 := strings.CutPrefix(authority, "["); v6 {
		host, after, closed := strings.Cut(inner, "]")
		addr, err := netip.ParseAddr(host)
		if !closed || err != nil || !addr.Is6() {
			return false
		}
		if after != "" && after[0] != ':' {
			return false
		}
		u.host, port, hasPort = host, strings.TrimPrefix(after, ":"), after != ""
	} else {
		u.host, port, hasPort = strings.Cut(authority, ":")
	}
	if u.host == "" {
		return false
	}
	if !hasPort || port == "" {
		return true
	}
	n, err := strconv.Atoi(port)
	u.port = n
	return err == nil && n > 0 && n < 1<<16
}

// StripPassword hides the password of a URL (couch_util:url_strip_password).
func StripPassword(text string) string {
	u, ok := parseURL(text)
	if !ok || !u.creds || u.pass == "" {
		return text
	}
	return u.prefix + u.user + ":*****@" + u.rest
}
