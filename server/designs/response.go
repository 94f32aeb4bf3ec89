package designs

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
)

// designResponse is what a function of a design document wants to answer
// (chttpd_external:parse_external_response).
type designResponse struct {
	code    int
	body    []byte
	json    []byte // instead of body; nil for none
	kind    string // Content-Type where the headers have none
	headers []compat.Param
}

const defaultDesignType = "application/json"

// parseResponse reads the object a function returned. Members count in their order; an unknown one
// is an error.
func parseResponse(v ejson.Value, status int) (*designResponse, error) {
	r := &designResponse{code: status, kind: defaultDesignType}
	for name, value := range v.Members() {
		var err error
		switch name.Text() {
		case "code":
			err = r.setCode(name, value)
		case "json":
			r.json, r.kind = value.AppendJSON(nil), "application/json"
		case "body":
			var text string
			if text, err = ioText(value); err == nil {
				r.body, r.kind = []byte(text), "text/html; charset=utf-8"
			}
		case "base64":
			var text string
			if text, err = ioText(value); err == nil {
				r.body, err = base64.StdEncoding.DecodeString(text)
				r.kind = "application/binary"
			}
			if err != nil {
				err = compat.ErrFunctionClause
			}
		case "headers":
			err = r.setHeaders(name, value)
		case "stop":
			if stop, isBool := value.Bool(); !isBool || !stop {
				err = errResponse(name, value)
			}
		default:
			err = errResponse(name, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// setCode takes a status, as a number or as a text. CouchDB closes the connection without a word
// where it is none.
func (r *designResponse) setCode(name, v ejson.Value) error {
	code, ok := v.Int()
	if v.Kind() == ejson.String {
		n, err := strconv.ParseUint(v.Text(), 10, 16)
		code, ok = int64(n), err == nil
	}
	if v.IsNull() {
		return compat.ErrFunctionClause
	}
	if !ok || code < 200 || code > 999 {
		return errResponse(name, v)
	}
	r.code = int(code)
	return nil
}

// setHeaders takes the headers that a function gives; values that are no strings are printed as
// Erlang prints them.
func (r *designResponse) setHeaders(name, v ejson.Value) error {
	if v.Kind() != ejson.Object {
		return errResponse(name, v)
	}
	r.headers = make([]compat.Param, 0, v.Len()+4)
	for name, value := range v.Members() {
		r.headers = append(r.headers, compat.Param{Name: name.Text(), Value: compat.ErlangText(value)})
	}
	return nil
}

// errResponse is CouchDB's error for a member of a function's answer that it does not understand.
func errResponse(name, value ejson.Value) *compat.Error {
	return compat.Named(compat.KindError, "external_response_error",
		"Invalid data from external server: {"+compat.ErlangTerm(name)+","+compat.ErlangTerm(value)+"}")
}

// ioText is the text that Erlang sends for a value: that of a string, or of an array of strings and
// bytes.
func ioText(v ejson.Value) (string, error) {
	text, ok := compat.IOText(v)
	if !ok {
		return "", compat.ErrBadArg
	}
	return text, nil
}

// apply puts headers of ours in place of the function's of exactly their names; the last of them
// stands first, the others after the function's own, which shows where names differ only in case
// (chttpd_show:apply_headers).
func (r *designResponse) apply(ours []compat.Param) {
	list := r.headers
	for _, h := range ours {
		kept := make([]compat.Param, 0, len(list)+1)
		kept = append(kept, h)
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].Name != h.Name {
				kept = append(kept, list[i])
			}
		}
		list = kept
	}
	r.headers = list
}

// complete adds the headers that every such answer has: a type, and the policy that keeps browsers
// from running what it holds.
func (r *designResponse) complete(policy string) {
	typed := false
	for i := range r.headers {
		typed = typed || strings.EqualFold(r.headers[i].Name, "Content-Type")
	}
	if !typed {
		r.headers = append([]compat.Param{{Name: "Content-Type", Value: r.kind}}, r.headers...)
	}
	if policy != "" && r.json == nil {
		r.headers = append([]compat.Param{{Name: "Content-Security-Policy", Value: policy}}, r.headers...)
	}
}

// framing are headers that belong to the connection: a function cannot set them.
var framing = map[string]bool{
	"Content-Length": true, "Transfer-Encoding": true, "Connection": true, "Keep-Alive": true, "Upgrade": true, "Trailer": true,
	"Te": true, "Proxy-Connection": true, "Date": true, "Server": true,
}

// setDesignHeaders sets a function's headers. Values of one name are joined as CouchDB's HTTP
// server joins them. Names that are no tokens are dropped, and line ends in values are blanks: no
// function can write a header, or an answer, of another.
func setDesignHeaders(c *call.Call, headers []compat.Param) {
	h := c.Writer.Header()
	for _, p := range headers {
		canonical := http.CanonicalHeaderKey(p.Name)
		if framing[canonical] || !isToken(p.Name) {
			continue
		}
		name := canonical
		if canonical == "Etag" {
			name = call.HeaderETag
		}
		value := lineEnds.Replace(p.Value)
		switch {
		case h[name] == nil || name == "Set-Cookie":
			h[name] = append(h[name], value)
		default:
			h[name] = []string{h[name][0] + ", " + value}
		}
	}
}

var lineEnds = strings.NewReplacer("\r\n", " ", "\r", " ", "\n", " ", "\x00", " ")

// isToken reports whether a text may be the name of a header.
func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// sendDesign answers with what a function returned (chttpd_external:send_external_response).
func sendDesign(c *call.Call, r *designResponse) error {
	r.complete(c.Settings.ShowPolicy)
	h := c.Writer.Header()
	delete(h, call.HeaderETag) // set for If-None-Match; it is among the headers
	if r.json != nil {
		r.addDefault("Content-Type", "application/json")
		r.addDefault("Cache-Control", "must-revalidate")
		slices.SortStableFunc(r.headers, func(a, b compat.Param) int { return strings.Compare(a.Name, b.Name) })
	}
	setDesignHeaders(c, r.headers)
	if r.json != nil {
		return c.JSON(r.code, r.json)
	}
	if r.code == http.StatusNoContent || r.code == http.StatusNotModified {
		r.body = nil
	}
	return c.Bytes(r.code, r.body)
}

// addDefault adds a header that JSON answers have unless the function has one of exactly this name.
func (r *designResponse) addDefault(name, value string) {
	if !slices.ContainsFunc(r.headers, func(p compat.Param) bool { return p.Name == name }) {
		r.headers = append(r.headers, compat.Param{Name: name, Value: value})
	}
}
