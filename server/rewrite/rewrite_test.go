package rewrite

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
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
	return Target(v, true, method, compat.PathParts(path, true), compat.ParseQuery(query))
}

// TestTarget reads rules and requests from files: a line of rules, then the request; for resolve the
// targets of rules in the database a/b.
func TestTarget(t *testing.T) {
	read := func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "resolve" {
			shown := ""
			for line := range strings.SplitSeq(d.Input, "\n") {
				path := Resolve("a/b", "d", line)
				shown += fmt.Sprintf("%s → %s, within the database: %v\n", line, path, Within("a/b", path))
			}
			return shown
		}
		rules, request, _ := strings.Cut(d.Input, "\n")
		method, url, _ := strings.Cut(request, " ")
		path, query, _ := strings.Cut(url, "?")
		got, err := target(t, rules, method, path, query)
		if err != nil {
			return err.Error()
		}
		return got
	}
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) { datadriven.RunTest(t, path, read) })
}

// TestLargeTargets: a path is no longer than a URL may be, whatever the rules make of it.
func TestLargeTargets(t *testing.T) {
	for _, c := range []struct {
		rules, path, query string
		want               error
	}{
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

func TestWithin(t *testing.T) {
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
			to, err := Target(v, secure, "GET", compat.PathParts(path, true), compat.ParseQuery(query))
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

// TestRulesTakeNoMemory: however many rules there are, one is in memory at a time.
func TestRulesTakeNoMemory(t *testing.T) {
	v, err := ejson.Parse([]byte(`[` + strings.Repeat(`{"from":"/:a/:b/*","to":"../../:a/:b/*"},`, 50_000) + `{"from":"x","to":"y"}]`))
	if err != nil {
		t.Fatal(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1)) // so that what is in use is what is held
	most, before := uint64(0), inUse()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if to, err := Target(v, true, "GET", []string{"x"}, nil); to != "y" || err != nil {
			t.Errorf("%q %v", to, err)
		}
	}()
	for looking := true; looking; {
		select {
		case <-done:
			looking = false
		default:
			most = max(most, inUse())
		}
	}
	if most > before+(8<<20) {
		t.Errorf("%d bytes are held", most-before)
	}
}

// inUse is how many bytes the heap has.
func inUse() uint64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
