package rewrite

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

func target(t testing.TB, rules, method, path, query string) (string, error) {
	t.Helper()
	v, err := ejson.Parse([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := Parse(v, true)
	if err != nil {
		return "", err
	}
	return Target(parsed, method, compat.PathParts(path, true), compat.ParseQuery(query))
}

// TestTarget reads rules and requests from a file: a line of rules, then the request.
func TestTarget(t *testing.T) {
	datadriven.RunTest(t, "testdata/targets", func(t *testing.T, d *datadriven.TestData) string {
		rules, request, _ := strings.Cut(d.Input, "\n")
		method, url, _ := strings.Cut(request, " ")
		path, query, _ := strings.Cut(url, "?")
		got, err := target(t, rules, method, path, query)
		if err != nil {
			return err.Error()
		}
		return got
	})
}

func TestTargetErrors(t *testing.T) {
	for _, c := range []struct {
		rules, path, query string
		want               error
	}{
		{`[{"from":"/x","to":"y"}]`, "/z", "", compat.ErrMissing},
		{`[{"from":"/x","to":"y"}]`, "/x/y", "", compat.ErrMissing},
		{`[{"from":"/x","to":"y","method":"PUT"}]`, "/x", "", compat.ErrMissing},
		{`[{"from":"/x"}]`, "/z", "", errTarget},
		{`[{"from":"/x","to":"y"},{"from":"/z","to":"../../../x"}]`, "/x", "", ErrInsecure},
		{`[{"from":"/x","to":"y"}]`, "/x", "key=abc", compat.ErrInvalidJSON},
		{`[{"from":"/x","to":5}]`, "/x", "", compat.ErrBadArg},
		{`[{"from":"/x","to":"y","query":{"limit":5}}]`, "/x", "", compat.ErrBadArg},
		{`[{"from":"/x","to":":n","query":{"n":{"a":1}}}]`, "/x", "", compat.ErrBadArg},
		{`[{"from":"/x","to":"y","query":{"x":[` + strings.Repeat(`":x",`, 1000) + `":x"]}}]`, "/x", "x=" + strings.Repeat("x", 8000), compat.ErrURITooLong},
		{`[{"from":"/x","to":"y","query":{"key":[` + strings.Repeat(`":x",`, 1000) + `":x"]}}]`, "/x", "x=" + strings.Repeat("x", 8000), compat.ErrURITooLong},
		{
			`[{"from":"/x","to":"y","query":{"x":[` + strings.Repeat(`"",`, 100_000) + `""]}}]`, "/x", "",
			compat.ErrURITooLong,
		},
		{
			`[{"from":"/x/:a","to":"` + strings.Repeat(":a/", 10_000) + `"}]`, "/x/" + strings.Repeat("x", 4000), "",
			compat.ErrURITooLong,
		},
	} {
		if _, err := target(t, c.rules, "GET", c.path, c.query); !errors.Is(err, c.want) {
			t.Errorf("%s %s: %v, want %v", c.rules, c.path, err, c.want)
		}
	}
}

func TestResolve(t *testing.T) {
	for _, c := range []struct{ target, want string }{
		{"_view/v?key=2", "/a%2Fb/_design/d/_view/v?key=2"},
		{"/_show/s", "/a%2Fb/_design/d/_show/s"},
		{"../..", "/a%2Fb"},
		{"./x//y/", "/a%2Fb/_design/d/x/y"},
		{"../../../_config", "/_config"},
		{"../../../../../x", "/../../x"},
	} {
		if got := Resolve("a/b", "d", c.target); got != c.want {
			t.Errorf("%q: %q, want %q", c.target, got, c.want)
		}
	}
	for path, want := range map[string]bool{
		"/a%2Fb": true, "/a%2Fb/_design/d": true, "/a%2Fb?x=/": true, "/a%2Fb/../c": true, "/": false, "/_node": false, "/a%2Fbc": false, "/a/b": false, "/../a%2Fb": false,
	} {
		if Within("a/b", path) != want {
			t.Errorf("%q within: %v", path, !want)
		}
	}
	if got := AppendQuery("/p", compat.Query{{Name: "a b", Value: "ü/"}, {Name: "c"}}); got != "/p?a+b=%C3%BC%2F&c=" {
		t.Error(got)
	}
}

// FuzzTarget: rules of any form never lead to text that is no path, and never crash.
func FuzzTarget(f *testing.F) {
	f.Add(
		`[{"from":"/a/:x/*","to":"../../:x/*","query":{"key":[":x",1],"q":"*"},"formats":{"x":"int"}}]`,
		"/a/1/2",
		"k=1&key=2",
	)
	f.Add(`[{"to":["a",47,"b"],"query":{"x":[[[]]]}}]`, "", "")
	f.Fuzz(func(t *testing.T, rules, path, query string) {
		v, err := ejson.Parse([]byte(rules))
		if err != nil {
			return
		}
		for _, secure := range []bool{false, true} {
			parsed, err := Parse(v, secure)
			if err != nil {
				continue
			}
			to, err := Target(parsed, "GET", compat.PathParts(path, true), compat.ParseQuery(query))
			if err != nil {
				continue
			}
			if full := Resolve("db", "d", to); full[0] != '/' || strings.ContainsAny(full, " \r\n") ||
				compat.CheckURLEncoding(full) != nil {
				t.Errorf("%q", full)
			}
		}
	})
}
