package call

import (
	"net/http"
	"slices"
	"strings"

	"github.com/settee-db/settee/config"
)

// Cross-origin requests as CouchDB answers them (chttpd_cors).

// simpleHeaders are those of an answer that are exposed by name where it has them; Content-Type
// always leads.
var simpleHeaders = []string{"Cache-Control", "Content-Language", "Expires", "Last-Modified", "Pragma"}

// corsRules is one section of the configuration: cors, or that of a host over it.
type corsRules struct {
	origins     []string
	all         bool // the origins have a *
	methods     []string
	headers     []string
	exposed     string // joined
	maxAge      string
	credentials bool
}

// corsSettings are the rules by host. A nil *corsSettings means that CORS is off.
type corsSettings struct {
	general *corsRules
	byHost  map[string]*corsRules
}

// readCORS parses the configuration; nil when chttpd/enable_cors is not true.
func readCORS(c *config.Config) *corsSettings {
	if !c.Bool("chttpd", "enable_cors") {
		return nil
	}
	s := &corsSettings{general: readCORSRules(c, "cors"), byHost: make(map[string]*corsRules)}
	for section := range c.All() {
		if host, ok := strings.CutPrefix(section, "cors:"); ok {
			s.byHost[host] = readCORSRules(c, section)
		}
	}
	return s
}

// readCORSRules takes the rules of a section, which is "cors" or "cors:" with a virtual host. A key
// that the host does not have comes from "cors". Names of headers are compared in lower case.
func readCORSRules(c *config.Config, section string) *corsRules {
	get := func(key string) string {
		if v, ok := c.Get(section, key); ok {
			return v
		}
		return c.String("cors", key)
	}
	r := &corsRules{
		origins:     SplitList(get("origins")),
		methods:     SplitList(get("methods")),
		headers:     SplitList(strings.ToLower(get("headers"))),
		exposed:     strings.Join(SplitList(strings.ToLower(get("exposed_headers"))), ", "),
		maxAge:      get("max_age"),
		credentials: get("credentials") == "true",
	}
	r.all = slices.Contains(r.origins, "*")
	return r
}

// corsRules returns the rules for the host of the request when its origin is one of theirs, and the
// origin as it was sent.
func (h *Head) corsRules() (*corsRules, string) {
	if h.Settings.cors == nil {
		return nil, ""
	}
	sent := h.Request.Header["Origin"]
	if len(sent) == 0 {
		return nil, ""
	}
	rules := h.Settings.cors.general
	if len(h.Settings.cors.byHost) > 0 {
		if own := h.Settings.cors.byHost[hostWithoutPort(h.clientHost())]; own != nil {
			rules = own
		}
	}
	if !rules.all && !slices.Contains(rules.origins, sent[0]) {
		return nil, ""
	}
	return rules, sent[0]
}

// clientHost is the host as the client named it: a forwarding header wins over Host.
func (h *Head) clientHost() string {
	if h.HasHeader(h.Settings.forwardedHost) {
		return h.Header(h.Settings.forwardedHost)
	}
	return h.Request.Host
}

// ClientHost is the host as the client named it, and the header in which it is told to another server; there is
// none where the configuration has no name for it.
func (h *Head) ClientHost() (header, host string) { return h.Settings.forwardedHost, h.clientHost() }

// hostWithoutPort cuts at the first colon (chttpd_cors:cors_section), so IPv6 addresses cannot have
// sections of their own.
func hostWithoutPort(host string) string {
	host, _, _ = strings.Cut(host, ":")
	return host
}

// answerPreflight answers the question of a browser whether it may send a request, before any
// authentication. What is asked for in vain is treated as an ordinary OPTIONS request.
func answerPreflight(c *Call) (done bool, err error) {
	if c.Request.Method != http.MethodOptions {
		return false, nil
	}
	rules, origin := c.corsRules()
	if rules == nil || !rules.allow(c.Request.Header) {
		return false, nil
	}
	c.preflight = true
	c.SetHeader("Access-Control-Allow-Origin", origin)
	c.SetHeader("Access-Control-Max-Age", rules.maxAge)
	c.SetHeader("Access-Control-Allow-Methods", strings.Join(rules.methods, ", "))
	c.SetHeader("Access-Control-Allow-Headers", c.Header("Access-Control-Request-Headers"))
	if rules.credentials {
		c.SetHeader("Access-Control-Allow-Credentials", "true")
	}
	return true, c.noContent()
}

// allow reports whether the method and all headers a preflight asks for are in the rules.
func (r *corsRules) allow(asked http.Header) bool {
	if !slices.Contains(r.methods, asked.Get("Access-Control-Request-Method")) {
		return false
	}
	names := strings.TrimRight(asked.Get("Access-Control-Request-Headers"), ", ")
	if names == "" {
		return true
	}
	for _, name := range strings.Split(strings.ToLower(names), ",") {
		if !slices.Contains(r.headers, strings.TrimLeft(name, " \t")) {
			return false
		}
	}
	return true
}

// addCORS sets the headers that let a browser give the answer to its page.
func (a *Answer) addCORS(h http.Header) {
	rules, origin := a.head.corsRules()
	if rules == nil || a.preflight {
		return
	}
	h["Access-Control-Allow-Origin"] = []string{origin}
	if rules.credentials {
		h["Access-Control-Allow-Credentials"] = []string{"true"}
	}
	exposed := "content-type"
	for _, name := range simpleHeaders {
		if h[name] != nil {
			exposed += ", " + strings.ToLower(name)
		}
	}
	if rules.exposed != "" {
		exposed += ", " + rules.exposed
	}
	h["Access-Control-Expose-Headers"] = []string{exposed}
}
