package designs

import (
	"net/http"
	"slices"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/rewrite"
)

var (
	errRewritePath  = compat.Named(compat.KindNotFound, "rewrite_error", "Invalid path.")
	errRewriteLimit = compat.NewError(compat.KindBadRequest, "Exceeded rewrite recursion limit")
)

// maxRewriteBytes bounds the design documents that rewrite a request one after the other, in bytes:
// each is read and parsed anew, so that a hundred rounds through one of the largest hold a
// processor for seconds.
const maxRewriteBytes = 16 << 20

func errRewrite(reason string) *compat.Error {
	return compat.Named(compat.KindError, "rewrite_error", reason)
}

// rewriteRequest serves every method of …/_rewrite/{path}: the request becomes another one, which
// begins anew with the question who may make it (chttpd_rewrite:handle_rewrite_req).
func rewriteRequest(c *call.Call) error {
	d, err := c.Docs.Designs().Functions(c.Context(), c.Segment(2))
	if err != nil {
		return err
	}
	if c.RewrittenBy += len(d.Doc.Body); c.Rewrites >= c.Settings.RewriteLimit ||
		c.Rewrites > 0 && c.RewrittenBy > maxRewriteBytes {
		return errRewriteLimit
	}
	c.Rewrites++
	rules, given := d.Body.Get("rewrites")
	switch {
	case !given:
		return errRewritePath
	case rules.Kind() == ejson.Array:
		return rewriteByRules(c, rules)
	case rules.Kind() == ejson.String:
		return rewriteByFunction(c, d)
	}
	return compat.CaseClause(rules)
}

// rewriteByRules sends the request on to the path of the first rule that fits; the rewritten
// request passes the whole chain again.
func rewriteByRules(c *call.Call, list ejson.Value) error {
	target, err := rewrite.Target(list, c.Settings.SecureRewrites, c.MethodName(), c.Segments[4:], c.Query)
	if err != nil {
		return err
	}
	if target, err = resolveRewrite(c, target); err != nil {
		return err
	}
	return c.Reroute(call.Rerouting{Target: target, Method: c.Request.Method})
}

// resolveRewrite makes the new path. With chttpd/secure_rewrites it must stay in the database,
// apart from the paths that rewrite.Harmless allows. CouchDB checks only the rules, neither the
// values of their variables nor functions, so an administrator of a database who made a server
// administrator open a URL could do anything.
func resolveRewrite(c *call.Call, target string) (string, error) {
	path := rewrite.Resolve(c.Segment(0), c.Segment(2), target)
	if c.Settings.SecureRewrites && !rewrite.Within(c.Segment(0), path) && !rewrite.Harmless(path) {
		return "", rewrite.ErrInsecure
	}
	return path, nil
}

// rewriteHeaders are the headers of a rewrite function's result but, with chttpd/secure_rewrites,
// those that say who asks.
func rewriteHeaders(c *call.Call, list []compat.Param) []compat.Param {
	if !c.Settings.SecureRewrites {
		return list
	}
	a := c.Settings.Auth
	credentials := []string{"Authorization", "Cookie", a.ProxyUser, a.ProxyRoles, a.ProxyToken}
	return slices.DeleteFunc(list, func(h compat.Param) bool {
		return slices.ContainsFunc(credentials, func(name string) bool { return strings.EqualFold(h.Name, name) })
	})
}

// rewriteByFunction sends a request to where a design document's rewrite function says
// (chttpd_rewrite:do_rewrite). The function may give an answer of its own (a code), a path, or
// nothing, which is an error 404. What it does not name, as method, query or headers, stays as the
// client sent it. The method and headers that it names go along apart in Named, because a show or
// list function that is reached sees them as the request's own.
func rewriteByFunction(c *call.Call, d *documents.Functions) error {
	req, err := c.RequestObject(call.DesignRequest{Bare: true})
	if err != nil {
		return err
	}
	functions, err := d.Compile()
	if err != nil {
		return err
	}
	v, err := callFunction(c.Context(), c.Outgoing, functions, []string{"rewrites"}, req)
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
		return answerRewrite(c, result)
	}
	if !result.hasPath {
		return errRewrite("Rewrite result must produce a new path.")
	}
	query := result.query
	if query == nil {
		query = c.Query
	}
	path, err := resolveRewrite(c, result.path)
	if err != nil {
		return err
	}
	result.headers = rewriteHeaders(c, result.headers)
	to := call.Rerouting{
		Target: rewrite.AppendQuery(path, query),
		Method: c.MethodName(), Headers: result.headers, Body: result.body,
		Named: &call.Named{Method: result.method, Headers: result.headers},
	}
	if result.method != "" {
		to.Method = result.method
	}
	return c.Reroute(to)
}

// answerRewrite sends what a rewrite function answers itself. As in CouchDB, without a body the
// request's goes back.
func answerRewrite(c *call.Call, r *rewriteResult) error {
	body := r.body
	if body == nil {
		var err error
		if body, _, err = c.RawBody(); err != nil {
			return err
		}
	}
	if r.code == http.StatusNoContent || r.code == http.StatusNotModified {
		body = nil
	}
	setDesignHeaders(c, r.headers)
	if h := c.Writer.Header(); h["Content-Type"] == nil {
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

// parseRewrite checks the members in their order; unknown ones do not matter
// (couch_query_servers:validate_rewrite_response).
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

// textMembers reads an object whose values have to be strings: headers or a query of a rewrite
// function.
func textMembers(v ejson.Value) ([]compat.Param, error) {
	list := make([]compat.Param, 0, v.Len())
	for name, value := range v.Members() {
		if value.Kind() != ejson.String {
			pair := compat.ErlangTerm(name) + "=" + compat.ErlangTerm(value)
			return nil, errRewrite("object key/value must be strings " + pair)
		}
		list = append(list, compat.Param{Name: name.Text(), Value: value.Text()})
	}
	return list, nil
}
