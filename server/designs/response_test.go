package designs

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
)

// FuzzDesignResponse: whatever a function returns, the answer's headers stay lines of their own,
// and its status is one.
func FuzzDesignResponse(f *testing.F) {
	for _, s := range []string{
		`{"body":"x","headers":{"X-A":"a\r\nX-B: c","content-type":"x","ETag":"y"}}`, `{"code":"200","json":[1]}`, `{"base64":"aGk=","stop":true}`,
		`{"headers":{"a b":1,"\u0000":[],"Set-Cookie":["a","b"],"":{}}}`, `{"code":204,"body":["a",[66]]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := ejson.Parse(text)
		if err != nil || v.Kind() != ejson.Object {
			return
		}
		r, err := parseResponse(v, 200)
		if err != nil {
			return
		}
		if r.code < 200 || r.code > 999 {
			t.Error(r.code)
		}
		r.apply([]compat.Param{{Name: "ETag", Value: "tag"}, {Name: "Vary", Value: "Accept"}})
		r.complete("sandbox")
		c := &call.Call{Answer: call.Answer{Writer: httptest.NewRecorder()}}
		setDesignHeaders(c, r.headers)
		for name, values := range c.Writer.Header() {
			if !isToken(name) || framing[name] || strings.ContainsAny(strings.Join(values, ""), "\r\n\x00") {
				t.Errorf("%q: %q", name, values)
			}
		}
	})
}

// FuzzRewriteResult: a rewrite function's result is refused or leads to a path.
func FuzzRewriteResult(f *testing.F) {
	for _, s := range []string{`{"path":"x","query":{"a":"b"},"headers":{"A":"b"},"body":"c","method":"PUT"}`, `{"code":404}`, `{"path":5}`, `[]`, `{"query":{"a":1}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := ejson.Parse(text)
		if err != nil {
			return
		}
		r, err := parseRewrite(v)
		if err == nil && r.code != 0 && (r.code < 200 || r.code > 599) {
			t.Error(r.code)
		}
	})
}
