package functions

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/forward"
)

// maxRequest is how many bytes the body of a request to a function may have.
const maxRequest = 1 << 20

// sandbox is the Content-Security-Policy of answers: a page that a function makes is of no origin, so that it
// can do nothing here with the cookie of its reader.
const sandbox = "sandbox"

// answerHeaders are those that a function may set. Others would speak for the server: cookies, who may read
// what across origins, how the connection goes on.
var answerHeaders = []string{
	"Cache-Control", "Content-Disposition", "Content-Language", "Content-Type", "Etag", "Expires", "Last-Modified",
	"Link", "Location", "Retry-After", "Vary",
}

// functionRequest is what OnRequest gets.
type functionRequest struct {
	Method  string              `json:"method"`
	Path    string              `json:"path"` // behind the name of the function
	Query   map[string][]string `json:"query"`
	Headers map[string]string   `json:"headers"` // with names in small letters, without credentials
	Body    string              `json:"body"`
	Base64  bool                `json:"base64"` // the body is no text
	User    requestUser         `json:"user"`
}

type requestUser struct {
	Name  *string  `json:"name"`
	Roles []string `json:"roles"`
}

// functionAnswer is what it has returned (js.EventResult.Answer).
type functionAnswer struct {
	Status  int         `json:"status"`
	Headers [][2]string `json:"headers"`
	Type    string      `json:"type"`
	Text    string      `json:"text"`
	Base64  []byte      `json:"base64"`
}

// answerRequest has a function of the global scope answer a request: /_functions/NAME.
func answerRequest(h *Handlers, c *call.Call) error {
	const nameAt = 1
	ref := definition.Ref{Scope: definition.Global, Name: c.Segment(nameAt)}
	r, err := h.registry.Get(c.Context(), ref)
	if err != nil {
		return err
	}
	if r == nil || r.State != definition.Deployed {
		return compat.NewError(compat.KindNotFound, "There is no function of this name that answers requests.")
	}
	if err := mayRequest(c, r.Deployed.Settings.HTTPRoles); err != nil {
		return err
	}
	body, err := c.ReadBodyWithin(min(maxRequest, c.Settings.MaxRequestSize))
	if err != nil {
		return err
	}
	text, err := requestOf(c, body)
	if err != nil {
		return err
	}
	method := c.MethodName()
	result, err := h.engine.Request(c.Context(), r, text, method == http.MethodGet || method == http.MethodHead)
	switch {
	case errors.Is(err, eventing.ErrNotServing):
		return h.requestElsewhere(c, r, body)
	case errors.Is(err, eventing.ErrReadsOnly):
		return compat.NewError(compat.KindInternal, "The function has written for a request that may only read.")
	case err != nil:
		return err
	}
	switch result.Outcome {
	case js.EventSkipped:
		return compat.NewError(compat.KindNotFound, "There is no function of this name that answers requests.")
	case js.EventTimedOut:
		return compat.NewError(compat.KindTimeout, "The function took too long.")
	case js.EventFailed:
		return compat.NewError(compat.KindInternal, "The function has failed. Its log says why.")
	}
	return answerOf(c, result.Answer)
}

// mayRequest refuses users who have none of the roles.
func mayRequest(c *call.Call, roles []string) error {
	has := func(role string) bool {
		return role == "_anonymous" || role == "_authenticated" && c.User.Name != "" ||
			slices.Contains(c.User.Roles, role)
	}
	switch {
	case c.User.IsAdmin() || slices.ContainsFunc(roles, has):
		return nil
	case c.User.Name == "":
		return compat.NewError(compat.KindUnauthorized, "You may not make requests to this function.")
	}
	return compat.NewError(compat.KindForbidden, "You may not make requests to this function.")
}

// requestElsewhere has another process answer, one that has a share of the function. It asks for the user's
// rights again. A request that comes from another process is not passed on once more, so that none goes round
// while partitions move.
func (h *Handlers) requestElsewhere(c *call.Call, r *registry.Record, body []byte) error {
	if forward.Passed(c) {
		return eventing.ErrNotServing
	}
	owners, err := h.engine.Owners(c.Context(), r)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(h.nodes.Others(), func(m nodes.Member) bool { return !slices.Contains(owners, m.ID) })
	if len(others) == 0 {
		return eventing.ErrNotServing
	}
	c.Request.Header.Del("Content-Encoding") // the body was unpacked
	m := others[rand.IntN(len(others))]
	if err := h.nodes.To(c, m, body, 0); !errors.Is(err, forward.ErrNoAnswer) {
		return err
	}
	return forward.Unanswered(m)
}

// requestOf is the request as OnRequest gets it.
func requestOf(c *call.Call, body []byte) ([]byte, error) {
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return nil, compat.NewError(compat.KindBadRequest, "The query of the request cannot be read.")
	}
	const restAt = 2
	r := functionRequest{
		Method: c.MethodName(), Query: query, Headers: map[string]string{}, Body: string(body),
		User: requestUser{Roles: append([]string{}, c.User.Roles...)},
	}
	for i := restAt; i < len(c.Segments); i++ {
		r.Path += "/" + c.Segment(i)
	}
	if c.User.Name != "" {
		r.User.Name = &c.User.Name
	}
	for name, values := range c.Request.Header {
		name = strings.ToLower(name)
		if name != "cookie" && name != "authorization" && !strings.HasPrefix(name, "x-auth-couchdb-") {
			r.Headers[name] = strings.Join(values, ", ")
		}
	}
	if r.Base64 = !utf8.Valid(body); r.Base64 {
		r.Body = base64.StdEncoding.EncodeToString(body)
	}
	return json.Marshal(r)
}

// answerOf sends what OnRequest has returned, with those of its headers that it may set.
func answerOf(c *call.Call, text []byte) error {
	var a functionAnswer
	if err := json.Unmarshal(text, &a); err != nil {
		return err
	}
	if a.Status < http.StatusOK || a.Status > 599 {
		return compat.NewError(compat.KindInternal, "The function has answered with a status that there is not.")
	}
	if a.Type != "" {
		c.SetHeader("Content-Type", a.Type)
	}
	for _, header := range a.Headers {
		name := textproto.CanonicalMIMEHeaderKey(header[0])
		if slices.Contains(answerHeaders, name) && httpguts.ValidHeaderFieldValue(header[1]) {
			c.SetHeader(name, header[1])
		}
	}
	c.SetHeader("Content-Security-Policy", sandbox)
	c.SetHeader("X-Content-Type-Options", "nosniff")
	body := []byte(a.Text)
	if len(a.Base64) > 0 {
		body = a.Base64
	}
	return c.Bytes(a.Status, body)
}
