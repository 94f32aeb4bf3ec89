package params

import (
	"strings"
	"testing"
)

func FuzzAccept(f *testing.F) {
	f.Add("text/html;q=0.5, */*;q=0.1;x=y,;")
	f.Fuzz(func(t *testing.T, header string) {
		a, ok := parseQValues(header)
		for _, item := range a {
			if item.q < 0 || item.q > 1000 || strings.Contains(item.name, ",") {
				t.Fatalf("%+v from %q", item, header)
			}
		}
		if !ok && a.Takes("application/json") {
			t.Fatal("a malformed header takes something")
		}
		_, _ = AcceptsGzip(header)
	})
}
