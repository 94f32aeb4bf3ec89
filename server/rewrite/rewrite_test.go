package rewrite

import (
	"errors"
	"strings"
	"testing"

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

func TestTarget(t *testing.T) {
	for _, c := range []struct{ rules, method, path, query, want string }{
		{`[{"from":"/doc/:id","to":"../../:id"}]`, "GET", "/doc/a", "", "../../a?id=a"},
		{`[{"from":"/","to":"index.html"}]`, "GET", "", "", "index.html"},
		{`[{"to":"x"}]`, "PUT", "/any/thing", "", "x"},
		{`[{"from":"/css/*","to":"css/*"}]`, "GET", "/css/a/b c", "", "css/a/b+c"},
		{`[{"from":"/css/*","to":"css/*"}]`, "GET", "/css", "", "css"},
		{`[{"from":"/s","to":"t","query":{"fixed":"1","x":"rule"}}]`, "GET", "/s", "x=request&y=2&z=3", "t?fixed=1&x=rule&z=3&y=2"},
		{`[{"from":"/a/:x/:y","to":"t"}]`, "GET", "/a/1/2", "q=3", "t?q=3&x=1&y=2"},
		{`[{"from":"/k/:k","to":"v","query":{"key":":k"},"formats":{"k":"int"}}]`, "GET", "/k/2", "", "v?key=2&k=2"},
		{`[{"from":"/k/:k","to":"v","query":{"key":":k"},"formats":{"k":"int"}}]`, "GET", "/k/ab", "", "v?key=%5B97%2C98%5D&k=ab"},
		{`[{"from":"/k/:k","to":"v","query":{"key":":k"}}]`, "GET", "/k/ab", "", "v?key=%22ab%22&k=ab"},
		{`[{"from":"/b/:k","to":"v","query":{"key":":k"},"formats":{"k":"bool"}}]`, "GET", "/b/TRUE", "", "v?key=true&k=TRUE"},
		{`[{"from":"/a/:a/:b","to":"v","query":{"key":[":a",":b",3]},"formats":{"a":"int"}}]`, "GET", "/a/%2B5/y", "", "v?key=%5B5%2C%22y%22%2C3%5D&a=%2B5&b=y"},
		{`[{"from":"/q","to":"v","query":{"startkey":[2],"endkey":[2,{}]}}]`, "GET", "/q", "", "v?startkey=%5B2%5D&endkey=%5B2%2C%7B%7D%5D"},
		{`[{"from":"/q","to":"v","query":{"copy":":x","star":"*"}}]`, "GET", "/q", "", "v?copy=%3Ax&star=%2A"},
		{`[{"from":"/v","to":"_show/s/:id"}]`, "GET", "/v", "", "_show/s/undefined"},
		{`[{"from":"/l/:x","to":"lit-:x"}]`, "GET", "/l/q", "", "lit-%3Ax?x=q"},
		{`[{"from":"/t/:x/:x","to":"s/:x"}]`, "GET", "/t/1/2", "", "s/2?x=1&x=2"},
		{`[{"from":"/x","to":"g","method":"GET"},{"from":"/x","to":"p","method":"POST"}]`, "POST", "/x", "", "p"},
		{`[5,{"from":"/x","to":"g"}]`, "GET", "/x", "", "g"},
	} {
		got, err := target(t, c.rules, c.method, c.path, c.query)
		if err != nil || got != c.want {
			t.Errorf("%s %s?%s: %q, %v; want %q", c.rules, c.path, c.query, got, err, c.want)
		}
	}
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
