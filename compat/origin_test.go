package compat

import (
	"net/url"
	"testing"
)

func TestSameOrigin(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"http://a/x", "http://A:80/y?z", true},
		{"https://a", "https://a:443", true},
		{"http://[::1]:5984/", "http://[::1]:5984/db", true},
		{"http://a", "https://a", false},
		{"http://a:80", "https://a:80", false},
		{"http://a:5984", "http://a:5985", false},
		{"http://a", "http://b.a", false},
		{"http://a", "http://a.", false},
		{"http://127.0.0.1:1", "http://localhost:1", false},
	} {
		a, _ := url.Parse(c.a)
		b, _ := url.Parse(c.b)
		if SameOrigin(a, b) != c.want || SameOrigin(b, a) != c.want {
			t.Errorf("%s and %s: not %v", c.a, c.b, c.want)
		}
	}
}
