package compat

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSplitTarget(t *testing.T) {
	for target, want := range map[string][2]string{
		"/":              {"/", ""},
		"/db?a=1":        {"/db", "a=1"},
		"/db?a=1#x?y":    {"/db", "a=1"},
		"/db#x?a=1":      {"/db", ""},
		"/db?a=?b":       {"/db", "a=?b"},
		"/a%3Fb?":        {"/a%3Fb", ""},
		"":               {"", ""},
		"/db/_design%2F": {"/db/_design%2F", ""},
	} {
		if path, query := SplitTarget(target); path != want[0] || query != want[1] {
			t.Errorf("%q: got %q %q", target, path, query)
		}
	}
}

func TestCheckURLEncoding(t *testing.T) {
	for _, good := range []string{"", "/", "/a%25%3a", "/%2F?x=%C3%a9", "/%25%2"[:4]} {
		if err := CheckURLEncoding(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"%", "/db%", "/db%2", "/db%2g", "/db%g2", "/db%%3Ae", "/db?x=%", "/db#%zz", "/db%2%3A"} {
		if err := CheckURLEncoding(bad); !errors.Is(err, ErrURLEncoding) {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}

func TestPathParts(t *testing.T) {
	for path, want := range map[string][]string{
		"/":               {},
		"//db//x/":        {"db", "x"},
		"/a%2Fb/c+d":      {"a/b", "c d"},
		"/a%2Bb/%00/%ff":  {"a+b", "\x00", "\xff"},
		"/./..":           {".", ".."},
		"/db/_design%2fx": {"db", "_design/x"},
		"db":              {"db"},
	} {
		if got := PathParts(path, true); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %q", path, got)
		}
	}
	if got := PathParts("/a+b%20c", false); !reflect.DeepEqual(got, []string{"a+b c"}) {
		t.Errorf("without plus decoding: got %q", got)
	}
}

func TestParseQuery(t *testing.T) {
	for raw, want := range map[string]Query{
		"":               nil,
		"a":              {{"a", ""}},
		"a=":             {{"a", ""}},
		"a=1&b=2":        {{"a", "1"}, {"b", "2"}},
		"a=1;b=2;":       {{"a", "1"}, {"b", "2"}},
		"&a=1":           {{"", ""}, {"a", "1"}},
		"&&":             {{"", ""}, {"", ""}},
		"a=b=c":          {{"a", "b=c"}},
		"=x":             {{"", "x"}},
		"a+b=%2B+%26":    {{"a b", "+ &"}},
		"k=%22a%22&k=%1": {{"k", `"a"`}, {"k", "%1"}},
	} {
		if got := ParseQuery(raw); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %q", raw, got)
		}
	}
}

func TestQueryLookup(t *testing.T) {
	q := ParseQuery("a=1&b=2&a=3&c")
	if v, ok := q.First("a"); v != "1" || !ok {
		t.Errorf("First: %q %v", v, ok)
	}
	if v, ok := q.Last("a"); v != "3" || !ok {
		t.Errorf("Last: %q %v", v, ok)
	}
	if v, ok := q.First("c"); v != "" || !ok {
		t.Errorf("a name without a value: %q %v", v, ok)
	}
	if _, ok := q.First("d"); ok {
		t.Error("found what is not there")
	}
	if _, ok := q.Last("A"); ok {
		t.Error("names ignore case")
	}
	if !q.Is("a", "1") || q.Is("a", "3") || q.Is("d", "") {
		t.Error("Is")
	}
}

func TestEncodeURL(t *testing.T) {
	for in, want := range map[string]string{
		"abcXYZ019-_.:": "abcXYZ019-_.:",
		"_design/a b":   "_design%2Fa%20b",
		"é~\x00+":       "%C3%A9%7E%00%2B",
	} {
		if got := EncodeURL(in); got != want {
			t.Errorf("%q: got %q", in, got)
		}
	}
}

func TestEncodeURLRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "s"))
		encoded := EncodeURL(s)
		if err := CheckURLEncoding(encoded); err != nil {
			t.Fatal(err)
		}
		if got := Unquote(encoded, rapid.Bool().Draw(t, "plus")); got != s {
			t.Fatalf("%q came back as %q", s, got)
		}
	})
}

func FuzzTarget(f *testing.F) {
	f.Add("/db/doc?rev=1-a&x;y=%20#f")
	f.Add("//a%2Fb/+?&&=;")
	f.Fuzz(func(t *testing.T, target string) {
		path, query := SplitTarget(target)
		for _, part := range PathParts(path, true) {
			if part == "" {
				t.Fatal("an empty part")
			}
		}
		q := ParseQuery(query)
		separators := strings.Count(query, "&") + strings.Count(query, ";")
		if len(q) > separators+1 {
			t.Fatalf("%d parameters from %q", len(q), query)
		}
		_ = CheckURLEncoding(target)
	})
}

func BenchmarkPathAndQuery(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		path, query := SplitTarget("/db/doc-0001?rev=1-967a00dff5e02add41819138abb3284d&attachments=true")
		PathParts(path, true)
		ParseQuery(query)
	}
}
