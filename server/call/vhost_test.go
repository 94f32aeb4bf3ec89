package call

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVirtualHostRules: the answers of a CouchDB are in
// conformance/testdata/edges-vhosts-config.json; this is the order of the rules.
func TestVirtualHostRules(t *testing.T) {
	rules := readVirtualHosts(map[string]string{
		"*.a.test": "/wild/*", ":x.a.test": "/variable/:x", "b.a.test": "/literal", "b.a.test:80": "/port", "b.a.test/p": "/path", "*": "/all",
		":x.:y.a.test": "/:y/:x/:z", "*.*.b.a.test": "/two/*", "empty.test": "", "/only": "/path",
	})
	for _, test := range []struct{ host, path, target, own string }{
		{"b.a.test", "x", "/literal", "/x"},
		{"b.a.test:81", "x", "/literal", "/x"},
		{"b.a.test:80", "x", "/literal", "/x"}, // rules without a port come first
		{"b.a.test", "p", "/path", "/"},
		{"c.a.test", "p", "/variable/c", "/p"},
		{"d.c.a.test", "", "/c/d/undefined", "/"},
		{"e.d.c.a.test", "", "/wild/c/d/e", "/"},
		{"e.d.b.a.test", "", "/wild/b/d/e", "/"}, // hosts are compared from their beginning: *.a before *.*
		{"a.test", "", "/all", "/"},
		{"empty.test", "", "/all", "/"},
		{"", "only", "", ""},
	} {
		target, own, ok := matchVirtualHost(rules, test.host, tokens(test.path, '/'))
		require.Equal(t, test.target != "", ok, test)
		require.Equal(t, [2]string{test.target, test.own}, [2]string{target, own}, test)
	}
}
