package server

import "strings"

// endpoint is all routes of one pattern.
type endpoint struct {
	pattern string
	methods map[string]*Route
	any     *Route // serves every method
	allow   string // as CouchDB's Allow header lists them
	access  Access // for methods the endpoint does not have
	inDB    bool   // below /{db}
}

// node is one level of the routing tree. A name beats a parameter, a parameter beats the rest of the path.
type node struct {
	names map[string]*node
	param *node
	rest  *endpoint
	here  *endpoint
}

// newRouter builds the tree of a route table.
func newRouter(routes []Route) *node {
	root := &node{}
	for i := range routes {
		e := root.insert(splitPattern(routes[i].Pattern), routes[i].Pattern)
		e.add(&routes[i])
	}
	return root
}

// splitPattern returns the segments of a pattern; %2F stands for a slash inside one.
func splitPattern(pattern string) []string {
	parts := strings.FieldsFunc(pattern, func(r rune) bool { return r == '/' })
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "%2F", "/")
	}
	return parts
}

func (n *node) insert(parts []string, pattern string) *endpoint {
	slot := &n.here
	for _, part := range parts {
		switch {
		case strings.HasSuffix(part, "...}"):
			slot = &n.rest
		case part[0] == '{':
			if n.param == nil {
				n.param = &node{}
			}
			n = n.param
			slot = &n.here
		default:
			if n.names[part] == nil {
				if n.names == nil {
					n.names = make(map[string]*node)
				}
				n.names[part] = &node{}
			}
			n = n.names[part]
			slot = &n.here
		}
	}
	if *slot == nil {
		*slot = &endpoint{pattern: pattern, methods: make(map[string]*Route), inDB: strings.HasPrefix(pattern, "/{db}")}
	}
	return *slot
}

func (e *endpoint) add(r *Route) {
	if len(e.methods) == 0 || strings.HasPrefix(r.Methods, "GET") {
		e.access = r.Access
	}
	if r.Methods == "*" {
		e.any = r
		return
	}
	for _, m := range strings.Split(r.Methods, ",") {
		e.methods[m] = r
		if m == "GET" && e.methods["HEAD"] == nil { // CouchDB serves HEAD as GET, listed or not
			e.methods["HEAD"] = r
		}
	}
	if r.Mark != unlisted {
		if e.allow != "" {
			e.allow += ","
		}
		e.allow += r.Methods
	}
}

// find returns the endpoint of a decoded path, nil when there is none.
func (n *node) find(path []string) *endpoint {
	if len(path) == 0 {
		return n.here
	}
	if next := n.names[path[0]]; next != nil {
		if e := next.find(path[1:]); e != nil {
			return e
		}
	}
	if n.param != nil {
		if e := n.param.find(path[1:]); e != nil {
			return e
		}
	}
	return n.rest
}

// route returns the row that serves a method, nil when the endpoint refuses it.
func (e *endpoint) route(method string) *Route {
	if e.any != nil {
		return e.any
	}
	return e.methods[method]
}
