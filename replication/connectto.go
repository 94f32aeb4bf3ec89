package replication

import (
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Routes say where requests for some hosts go instead (couch_replicator_connect): the first that
// fits counts. The Host header and the name in TLS stay those of the URL.
//
// Parsing them again makes no difference to connections that are open: a route is looked for when
// one is made.
type Routes []route

type route struct {
	host     string // in small letters; one that begins with a star is the end of names
	port     int
	instead  string // a host or an address, without brackets
	insteadP int
}

// routePattern is host:port:target:targetport; an IPv6 address as target is in brackets.
var routePattern = regexp.MustCompile(`^([^:\[]+):([0-9]+):([^:]+|\[[^\]]+\]):([0-9]+)$`)

// ParseRoutes reads the setting connect_to; bad are the entries that cannot be parsed.
func ParseRoutes(setting string) (routes Routes, bad []string) {
	for entry := range strings.SplitSeq(setting, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		m := routePattern.FindStringSubmatch(entry)
		if m == nil {
			bad = append(bad, entry)
			continue
		}
		// A port to listen for may be any number; the one to connect to has to be a port.
		port, err := strconv.Atoi(m[2])
		to, toErr := strconv.ParseUint(m[4], 10, 16)
		if err != nil || toErr != nil {
			bad = append(bad, entry)
			continue
		}
		routes = append(routes, route{strings.ToLower(m[1]), port, strings.Trim(m[3], "[]"), int(to)})
	}
	return routes, bad
}

// find gives the address that connections to a host and port go to, and whether a route says so.
func (r Routes) find(host string, port int) (string, bool) {
	host = strings.ToLower(host)
	for _, to := range r {
		// "*.example.com" has the end ".example.com"; a star alone fits every host.
		end, star := strings.CutPrefix(to.host, "*")
		if to.port == port && (host == to.host || star && strings.HasSuffix(host, end)) {
			return net.JoinHostPort(to.instead, strconv.Itoa(to.insteadP)), true
		}
	}
	return "", false
}

// connectTo is the address that connections to an address go to, and whether a route says so.
func (s *Settings) connectTo(address string) (string, bool) {
	if s.ConnectTo == nil {
		return address, false
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address, false
	}
	n, _ := strconv.Atoi(port)
	if to, ok := s.ConnectTo().find(host, n); ok {
		return to, true
	}
	return address, false
}

// countRoute counts a request that goes to another address than that of its URL.
func (p *HTTPPeer) countRoute(u *url.URL) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if _, ok := p.set.connectTo(net.JoinHostPort(u.Hostname(), port)); ok && p.endpoint.Proxy == "" {
		p.set.Counters.ConnectTo.add(1)
	}
}
