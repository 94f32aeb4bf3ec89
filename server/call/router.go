package call

import "strings"

// Endpoint is all routes of one pattern.
type Endpoint struct {
	Pattern string
	methods map[string]*Route
	any     *Route // serves every method
	Allow   string // as CouchDB's Allow header lists them
	access  Access // for methods the endpoint does not have
	inDB    bool   // below /{db}
}

// Router is one level of the routing tree. A name beats a parameter, a parameter beats the rest of
// the path.
type Router struct {
	names map[string]*Router
	param *Router
	rest  *Endpoint
	here  *Endpoint
}

// NewRouter builds the tree of a route table.
func NewRouter(routes []Route) *Router {
	root := &Router{}
	for i := range routes {
		e := root.insert(SplitPattern(routes[i].Pattern), routes[i].Pattern)
		e.add(&routes[i])
	}
	return root
}

// SplitPattern returns the segments of a pattern; %2F stands for a slash inside one.
func SplitPattern(pattern string) []string {
	parts := strings.FieldsFunc(pattern, func(r rune) bool { return r == '/' })
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "%2F", "/")
	}
	return parts
}

// insert finds or makes the endpoint of a pattern. Each node of the tree stands for one segment of
// a path: n.names are fixed segments, n.param takes any one, n.rest takes all that are left. All
// routes of a pattern with different methods share its endpoint.
func (n *Router) insert(parts []string, pattern string) *Endpoint {
	slot := &n.here
	for _, part := range parts {
		switch {
		case strings.HasSuffix(part, "...}"):
			slot = &n.rest
		case part[0] == '{':
			if n.param == nil {
				n.param = &Router{}
			}
			n = n.param
			slot = &n.here
		default:
			if n.names[part] == nil {
				if n.names == nil {
					n.names = make(map[string]*Router)
				}
				n.names[part] = &Router{}
			}
			n = n.names[part]
			slot = &n.here
		}
	}
	if *slot == nil {
		*slot = &Endpoint{Pattern: pattern, methods: make(map[string]*Route), inDB: strings.HasPrefix(pattern, "/{db}")}
	}
	return *slot
}

// add puts a route under its methods, which are separated by commas; "*" takes all that no other
// route has. Who may call the endpoint is decided before the method is known to be allowed, so one
// rule holds for all of it: that of the first route, or of GET if there is one.
func (e *Endpoint) add(r *Route) {
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
	if !r.Unlisted {
		if e.Allow != "" {
			e.Allow += ","
		}
		e.Allow += r.Methods
	}
}

// Find returns the endpoint of a decoded path, nil when there is none.
func (n *Router) Find(path []string) *Endpoint {
	if len(path) == 0 {
		return n.here
	}
	if next := n.names[path[0]]; next != nil {
		if e := next.Find(path[1:]); e != nil {
			return e
		}
	}
	if n.param != nil {
		if e := n.param.Find(path[1:]); e != nil {
			return e
		}
	}
	return n.rest
}

// Route returns the row that serves a method, nil when the endpoint refuses it.
func (e *Endpoint) Route(method string) *Route {
	if e.any != nil {
		return e.any
	}
	return e.methods[method]
}
