package compat

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPathWithPlus(t *testing.T) {
	if got := PathParts("/a+b%20c", false); !reflect.DeepEqual(got, []string{"a+b c"}) {
		t.Errorf("without plus decoding: got %q", got)
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
