package call

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/server/rewrite"
)

// Rerouting is the request that takes the place of the client's.
type Rerouting struct {
	Target  string         // path and query
	Method  string         // the client's, unless a function chose another
	Headers []compat.Param // put in place of the client's of the same names
	Body    []byte         // nil: the client's
	Named   *Named         // by a rewrite function, nil for rules
}

// Named is what a rewrite function said of the request: functions are shown it as it was written.
type Named struct {
	Method  string // "" for none
	Headers []compat.Param
}

// rerouted is what a rerouted request passes: all that depends on its path, method or headers.
var rerouted = []step{parseTarget, readOptions, answerPreflight, identifyAgain}

// identifyAgain authenticates a rerouted request whose headers are not the client's any more; else
// the user is who it was.
func identifyAgain(c *Call) (done bool, err error) {
	if c.identified {
		return false, c.requireUserOrKnown()
	}
	return false, c.authenticate()
}

// requireUserOrKnown applies the rules for requests of nobody to the new path.
func (h *Head) requireUserOrKnown() error {
	if h.User.Name != "" || h.IdentifiedBy != "" {
		return nil
	}
	return h.requireUser()
}

// Reroute handles another request in place of this one. Nothing that was found out for the old path
// holds for the new one.
func (c *Call) Reroute(to Rerouting) error {
	if len(to.Target) > rewrite.MaxTarget {
		return compat.ErrURITooLong
	}
	c.crossSite, c.originKnown = fromOtherSite(c), true
	r := *c.Request
	path, query := compat.SplitTarget(to.Target)
	r.RequestURI, r.URL = to.Target, &url.URL{Path: path, RawQuery: query}
	c.headOnly = c.IsHead()
	r.Method = to.Method
	if len(to.Headers) > 0 || to.Body != nil {
		r.Header = r.Header.Clone()
	}
	for _, h := range to.Headers {
		if name := http.CanonicalHeaderKey(h.Name); name == "Host" {
			r.Host = h.Value
		} else {
			r.Header[name] = []string{h.Value}
		}
	}
	if to.Body != nil {
		r.ContentLength, r.TransferEncoding = int64(len(to.Body)), nil
		r.Header["Content-Length"] = []string{strconv.Itoa(len(to.Body))}
		c.keepBody(to.Body)
	}
	c.Request = &r
	c.identified = len(to.Headers) == 0
	if to.Named != nil {
		c.rewritten = to.Named
	}
	if !c.identified {
		c.User, c.IdentifiedBy, c.Renew = principal.Principal{}, "", nil
	}
	c.DB, c.Docs, c.DBKnown, c.authorized = nil, nil, false, false
	return c.pass(rerouted)
}
