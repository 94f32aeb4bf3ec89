package call

import (
	"cmp"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
)

// This file is virtual hosts: a request to a host of section vhosts is one for the path that the
// host stands for (couch_httpd_vhost).

// vhostPath is the header with the path that the client asked for below its virtual host.
const vhostPath = "X-Couchdb-Vhost-Path"

// globalPaths begin with what every virtual host has of the server itself. CouchDB 3.5 does not
// read vhost_global_handlers any more. The console is settee's own.
var globalPaths = []string{"_utils", "_console", "_uuids", "_session", "_users"}

// pieceKind is what a piece of a host or a path is matched with. The order is that of the terms
// CouchDB sorts its rules by.
type pieceKind uint8

const (
	rest     pieceKind = iota // *: all pieces that are left, one at least
	variable                  // :name: one piece, to be put into the path
	literal
)

// hostPiece is one part of a host name between dots, or of a path between slashes.
type hostPiece struct {
	kind pieceKind
	text string // the name of a variable, or the literal
}

// virtualHost is one rule of section vhosts: `host[:port][/path] = /target`.
type virtualHost struct {
	host    []hostPiece
	port    int      // -1: any
	path    []string // the beginning of the path, which is cut off
	target  []hostPiece
	anyPort bool
}

// readVirtualHosts reads section vhosts. Rules are tried from the last to the first in the order of
// Erlang's terms, so that literal names come before variables, and those before wildcards
// (couch_httpd_vhost:make_vhosts).
func readVirtualHosts(section map[string]string) []virtualHost {
	var list []virtualHost
	for name, target := range section {
		at := strings.IndexAny(name, "/?#")
		if target == "" || at == 0 { // without a host a rule never matches
			continue
		}
		host, path := name, ""
		if at > 0 {
			host, path = name[:at], name[at:]
		}
		parts, port := splitHostPort(host)
		list = append(list, virtualHost{
			host: pieces(parts), port: port, anyPort: port < 0,
			path: tokens(path, '/'), target: pieces(tokens(target, '/')),
		})
	}
	sort.Slice(list, func(i, j int) bool { return compareHosts(list[i], list[j]) > 0 })
	return list
}

// compareHosts orders rules; they are tried from the greatest on, so that exact hosts come before
// those with variables and stars.
func compareHosts(a, b virtualHost) int {
	return cmp.Or(slices.CompareFunc(a.host, b.host, comparePieces), comparePorts(a, b), slices.Compare(a.path, b.path),
		slices.CompareFunc(a.target, b.target, comparePieces))
}

func comparePieces(a, b hostPiece) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.text, b.text))
}

// comparePorts puts rules without a port after those with any.
func comparePorts(a, b virtualHost) int {
	if a.anyPort != b.anyPort {
		if a.anyPort {
			return 1
		}
		return -1
	}
	return cmp.Compare(a.port, b.port)
}

// tokens are the parts between separators that are not empty (string:tokens).
func tokens(s string, separator rune) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == separator })
}

// pieces tells the kinds of the parts of a rule: a star is any rest, a colon begins a variable.
func pieces(parts []string) []hostPiece {
	list := make([]hostPiece, len(parts))
	for i, part := range parts {
		name, isVariable := strings.CutPrefix(part, ":")
		switch {
		case part == "*":
			list[i] = hostPiece{kind: rest}
		case isVariable:
			list[i] = hostPiece{kind: variable, text: name}
		default:
			list[i] = hostPiece{kind: literal, text: part}
		}
	}
	return list
}

// splitHostPort returns the parts of a host name and its port, -1 without one.
func splitHostPort(host string) (parts []string, port int) {
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		if n, err := strconv.Atoi(host[i+1:]); err == nil {
			return tokens(host[:i], '.'), n
		}
	}
	return tokens(host, '.'), -1
}

// bind matches a host name from its end on. It returns the values of variables, the latest first,
// and the pieces that a wildcard stands for, in reverse order as CouchDB has them.
func (v *virtualHost) bind(host []string) (bound []compat.Param, remaining []string, ok bool) {
	spec := v.host
	for i := len(host); len(spec) > 0; {
		p := spec[len(spec)-1]
		if p.kind == rest && len(spec) == 1 {
			remaining = slices.Clone(host[:i])
			slices.Reverse(remaining)
			return bound, remaining, i > 0
		}
		if i == 0 || p.kind == literal && p.text != host[i-1] {
			return nil, nil, false
		}
		i--
		if p.kind == variable {
			bound = append([]compat.Param{{Name: p.text, Value: host[i]}}, bound...)
		}
		if spec = spec[:len(spec)-1]; len(spec) == 0 {
			return bound, nil, i == 0
		}
	}
	return nil, nil, len(host) == 0
}

// targetPath is the path that the host stands for. A variable that the host does not have is
// "undefined".
func (v *virtualHost) targetPath(bound []compat.Param, remaining []string) string {
	var path []string
	for _, p := range v.target {
		switch p.kind {
		case rest:
			return "/" + strings.Join(append(path, remaining...), "/")
		case variable:
			value := "undefined"
			if i := slices.IndexFunc(bound, func(b compat.Param) bool { return b.Name == p.text }); i >= 0 {
				value = bound[i].Value
			}
			path = append(path, value)
		default:
			path = append(path, p.text)
		}
	}
	return "/" + strings.Join(path, "/")
}

// matchVirtualHost finds the first rule for a host and the segments of a path: the path that the
// host stands for, and the request's own without what the rule cuts off.
func matchVirtualHost(rules []virtualHost, host string, segments []string) (target, own string, ok bool) {
	parts, port := splitHostPort(host)
	for i := range rules {
		v := &rules[i]
		if !v.anyPort && v.port != port {
			continue
		}
		bound, remaining, ok := v.bind(parts)
		if !ok || len(segments) < len(v.path) || !slices.Equal(segments[:len(v.path)], v.path) {
			continue
		}
		return v.targetPath(bound, remaining), "/" + strings.Join(segments[len(v.path):], "/"), true
	}
	return "", "", false
}

// resolveHost puts the path of a virtual host in front of the request's
// (couch_httpd_vhost:dispatch_host).
func resolveHost(c *Call) (done bool, err error) {
	if len(c.Settings.virtualHosts) > 0 && strings.HasPrefix(c.Request.RequestURI, "/") {
		c.redirectToHost()
	}
	return false, nil
}

// redirectToHost rewrites a request to a virtual host into the path that the host stands for. The
// path that the client asked for goes along in a header, because rewrites and links have to name it
// (couch_httpd_vhost:dispatch_host_int). The request is copied before it is changed,
// because net/http holds the original.
func (c *Call) redirectToHost() {
	path, query, asked := strings.Cut(c.Request.RequestURI, "?")
	front, _, _ := strings.Cut(path[1:], "/")
	target, own, ok := matchVirtualHost(c.Settings.virtualHosts, c.clientHost(), tokens(path, '/'))
	if !ok || slices.Contains(globalPaths, front) {
		return
	}
	if asked {
		own += "?" + query
	}
	r := *c.Request
	r.Header = r.Header.Clone()
	r.Header[vhostPath] = []string{own}
	if r.RequestURI = target + own; target == "/" && own == "/" {
		r.RequestURI = "/"
	}
	path, query, _ = strings.Cut(r.RequestURI, "?")
	r.URL = &url.URL{Path: path, RawQuery: query}
	c.Request = &r
}
