package server

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/settee-db/settee/compat"
)

// rerouting is the request that takes the place of the client's.
type rerouting struct {
	target  string         // path and query
	method  string         // the client's, unless a function chose another
	headers []compat.Param // put in place of the client's of the same names
	body    []byte         // nil: the client's
	result  *rewriteResult // of a rewrite function, nil for rules
}

// rerouted is what a rerouted request passes: all that depends on its path, method or headers.
var rerouted = parseTarget(readOptions(answerPreflight(identify(dispatch))))

// identify authenticates a rerouted request whose headers are not the client's any more; else the user is who it was.
func identify(next Handler) Handler {
	return func(c *Call) error {
		if c.identified {
			if err := c.requireUserOrKnown(); err != nil {
				return err
			}
			return next(c)
		}
		if err := c.authenticate(); err != nil {
			return err
		}
		return next(c)
	}
}

// requireUserOrKnown applies the rules for requests of nobody to the new path.
func (c *Call) requireUserOrKnown() error {
	if c.user.Name != "" || c.user.Handler != "" {
		return nil
	}
	return c.requireUser()
}

// reroute handles another request in place of this one. Nothing that was found out for the old path holds for the new one.
func (c *Call) reroute(to rerouting) error {
	r := *c.r
	path, query := compat.SplitTarget(to.target)
	r.RequestURI, r.URL = to.target, &url.URL{Path: path, RawQuery: query}
	c.headOnly = c.IsHead()
	r.Method = to.method
	if len(to.headers) > 0 || to.body != nil {
		r.Header = r.Header.Clone()
	}
	for _, h := range to.headers {
		if name := http.CanonicalHeaderKey(h.Name); name == "Host" {
			r.Host = h.Value
		} else {
			r.Header[name] = []string{h.Value}
		}
	}
	if to.body != nil {
		r.ContentLength, r.TransferEncoding = int64(len(to.body)), nil
		r.Header["Content-Length"] = []string{strconv.Itoa(len(to.body))}
		c.keepBody(to.body)
	}
	c.r = &r
	c.identified = len(to.headers) == 0
	if to.result != nil {
		c.rewritten = to.result
	}
	if !c.identified {
		c.user, c.renewKey = Principal{}, ""
	}
	c.db, c.rules, c.dbKnown, c.authorized = nil, nil, false, false
	return rerouted(c)
}
