package server

import (
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/rewrite"
)

var (
	errRewritePath  = compat.Named(compat.KindNotFound, "rewrite_error", "Invalid path.")
	errRewriteLimit = compat.NewError(compat.KindBadRequest, "Exceeded rewrite recursion limit")
)

func errRewrite(reason string) *compat.Error {
	return compat.Named(compat.KindError, "rewrite_error", reason)
}

// rewriteRequest serves every method of …/_rewrite/{path}: the request becomes another one, which begins anew with the question
// who may make it (chttpd_rewrite:handle_rewrite_req).
func rewriteRequest(c *Call) error {
	d, err := c.openFunctions(c.Segment(2))
	if err != nil {
		return err
	}
	if c.rewrites >= c.set.rewriteLimit {
		return errRewriteLimit
	}
	c.rewrites++
	rules, given := d.body.Get("rewrites")
	switch {
	case !given:
		return errRewritePath
	case rules.Kind() == ejson.Array:
		return c.rewriteByRules(rules)
	case rules.Kind() == ejson.String:
		return c.rewriteByFunction(d)
	}
	return compat.CaseClause(rules)
}

func (c *Call) rewriteByRules(list ejson.Value) error {
	rules, err := rewrite.Parse(list, c.set.secureRewrites)
	if err != nil {
		return err
	}
	target, err := rewrite.Target(rules, c.methodName(), c.segments[4:], c.query)
	if err != nil {
		return err
	}
	return c.reroute(rerouting{target: rewrite.Resolve(c.Segment(0), c.Segment(2), target), method: c.r.Method})
}

// methodName is the method as functions and rules see it: HEAD counts as GET.
func (c *Call) methodName() string {
	if c.method == http.MethodHead {
		return http.MethodGet
	}
	return c.method
}

func (c *Call) rewriteByFunction(d *designDoc) error {
	req, err := c.requestObject(designRequest{bare: true})
	if err != nil {
		return err
	}
	functions, err := c.functions(d)
	if err != nil {
		return err
	}
	v, err := call(c.Context(), functions, []string{"rewrites"}, req)
	if err != nil {
		return err
	}
	if _, none := answer(v, "no_dispatch_rule", 0); none {
		return errRewritePath
	}
	values, ok := answer(v, "ok", 1)
	if !ok {
		return compat.Named(compat.KindError, "unknown_error", compat.ErlangText(v))
	}
	result, err := parseRewrite(values[0])
	if err != nil {
		return err
	}
	if result.code != 0 {
		return c.answerRewrite(result)
	}
	if !result.hasPath {
		return errRewrite("Rewrite result must produce a new path.")
	}
	query := result.query
	if query == nil {
		query = c.query
	}
	to := rerouting{
		target: rewrite.AppendQuery(rewrite.Resolve(c.Segment(0), c.Segment(2), result.path), query),
		method: c.methodName(), headers: result.headers, body: result.body, result: result,
	}
	if result.method != "" {
		to.method = result.method
	}
	return c.reroute(to)
}

// answerRewrite sends what a rewrite function answers itself. As in CouchDB, without a body the request's goes back.
func (c *Call) answerRewrite(r *rewriteResult) error {
	body := r.body
	if body == nil {
		var err error
		if body, _, err = c.rawBody(); err != nil {
			return err
		}
	}
	if r.code == http.StatusNoContent || r.code == http.StatusNotModified {
		body = nil
	}
	c.setDesignHeaders(r.headers)
	if h := c.w.Header(); h["Content-Type"] == nil {
		h["Content-Type"] = nil // else net/http would guess one
	}
	return c.Bytes(r.code, body)
}

// rewriteResult is what a rewrite function returned.
type rewriteResult struct {
	code         int // of an answer of its own, 0 for none
	path, method string
	hasPath      bool
	query        compat.Query // nil: that of the request
	headers      []compat.Param
	body         []byte // nil: that of the request
}

// parseRewrite checks the members in their order; unknown ones do not matter (couch_query_servers:validate_rewrite_response).
func parseRewrite(v ejson.Value) (*rewriteResult, error) {
	if v.Kind() != ejson.Object {
		return nil, errRewrite("bad rewrite")
	}
	r := &rewriteResult{}
	for name, value := range v.Members() {
		isText := value.Kind() == ejson.String
		valid := true
		var err error
		switch name.Text() {
		case "method":
			r.method, valid = value.Text(), isText
		case "path":
			r.path, r.hasPath, valid = value.Text(), true, isText
		case "body":
			r.body, valid = []byte(value.Text()), isText
		case "headers":
			if valid = value.Kind() == ejson.Object; valid {
				r.headers, err = textMembers(value)
			}
		case "query":
			if valid = value.Kind() == ejson.Object; valid {
				r.query, err = textMembers(value)
			}
		case "code":
			code, isInt := value.Int()
			r.code, valid = int(code), isInt && code >= 200 && code < 600
		}
		if !valid {
			return nil, errRewrite("bad " + name.Text())
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func textMembers(v ejson.Value) ([]compat.Param, error) {
	list := make([]compat.Param, 0, v.Len())
	for name, value := range v.Members() {
		if value.Kind() != ejson.String {
			return nil, errRewrite("object key/value must be strings " + compat.ErlangTerm(name) + "=" + compat.ErlangTerm(value))
		}
		list = append(list, compat.Param{Name: name.Text(), Value: value.Text()})
	}
	return list, nil
}
