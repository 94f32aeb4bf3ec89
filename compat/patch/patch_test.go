package patch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/compat/patch"
)

// apply is what a patch makes of the body of the document doc, or the error.
func apply(body, text string, limit int64) (*patch.Patch, *patch.Result, error) {
	v, err := ejson.Parse([]byte(text))
	if err != nil {
		return nil, nil, err
	}
	p, err := patch.Parse(v)
	if err != nil {
		return nil, nil, err
	}
	result, err := p.Apply(patch.Target{
		ID: "doc", Rev: compat.Rev{Pos: 1, Hash: "abc"}, Body: []byte(body), Limit: limit,
		Attached: func(name string) bool { return name == "x.png" },
	})
	return p, result, err
}

// shown is a result or an error for a test's file.
func shown(p *patch.Patch, r *patch.Result, err error) string {
	if e, ok := compat.AsError(err); ok {
		return fmt.Sprintf("%d %s: %s", e.Status(), e.Word(), e.Reason)
	}
	if err != nil {
		return "not a compat.Error: " + err.Error()
	}
	text := string(r.Body)
	if r.Deleted {
		text += " deleted"
	}
	if r.DetachedAll {
		text += " without attachments"
	}
	for name := range r.Detached {
		text += " without " + name
	}
	if p.HasRev {
		text += ", asks for " + p.Rev.String()
	}
	return text
}

// TestCases: the appendices of both RFCs, and what they leave open.
func TestCases(t *testing.T) {
	for _, file := range []string{"merge", "operations"} {
		datadriven.RunTest(t, "testdata/"+file, func(t *testing.T, d *datadriven.TestData) string {
			body, text, _ := strings.Cut(d.Input, "\n")
			var limit int64
			d.MaybeScanArgs(t, "limit", &limit)
			return shown(apply(body, text, limit)) + "\n"
		})
	}
}

// TestLimits: patches that are long, deep, or double what they copy end with an error, and hold no
// more than the limit allows.
func TestLimits(t *testing.T) {
	list := func(n int, op string) string {
		return "[" + strings.Join(slices.Repeat([]string{op}, n), ",") + "]"
	}
	test := `{"op":"test","path":"/a","value":[1]}`
	double := list(1000, `{"op":"copy","from":"/a","path":"/a/-"}`)
	deep := list(1000, `{"op":"copy","from":"/a","path":"/a/0"}`)
	wrap := `{"op":"move","from":"/a","path":"/b"},{"op":"add","path":"/a","value":[]},{"op":"move","from":"/b","path":"/a/-"}`
	nest := list(300, wrap)
	nested := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	for _, c := range []struct{ name, patch, want string }{
		{"1000 operations", list(1000, test), `{"a":[1]}`},
		{"1001 operations", list(1001, test), "400 bad_request: a patch has at most 1000 operations"},
		{"copies of copies", double, "413 document_too_large: doc"},
		{"copies in copies", deep, "413 document_too_large: doc"},
		{"a nest of copies", nest, "400 patch_failed: operation 767: it nests values more than 256 levels deep"},
		{"a deep value", `{"a":` + nested + `}`, "400 bad_request: a patch is nested at most 256 levels deep"},
		{"a deep pointer", `[{"op":"remove","path":"` + strings.Repeat("/a", 257) + `"}]`, "400 bad_request: operation 0: /a/a"},
	} {
		got := shown(apply(`{"a":[1]}`, c.patch, 8_000_000))
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %.200s", c.name, got)
		}
	}
}

func TestPointerText(t *testing.T) {
	for _, text := range []string{"", "/", "/a", "/a/b", "/~0~1", "/~01", "//", "/0/-"} {
		p, err := patch.ParsePointer(text)
		if err != nil || p.String() != text {
			t.Errorf("%q became %q, %v", text, p.String(), err)
		}
	}
}

func FuzzPointer(f *testing.F) {
	for _, text := range []string{"", "/", "/a/0", "/~0~1", "/~", "a", "/a~2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := patch.ParsePointer(text)
		if err != nil {
			if _, wire := compat.AsError(err); !wire {
				t.Fatal(err)
			}
			return
		}
		if p.String() != text {
			t.Errorf("%q became %q", text, p.String())
		}
		p.Find([]byte(`{"a":[{"b":1}],"":{"~":2,"/":3}}`))
	})
}

func FuzzPatch(f *testing.F) {
	f.Add(`{"a":[1,2]}`, `[{"op":"move","from":"/a/0","path":"/b"},{"op":"copy","from":"","path":"/c"}]`)
	f.Add(`{"a":{"b":1.50}}`, `{"a":{"b":null,"c":{}},"_attachments":{"x.png":null}}`)
	f.Add(`{"n":9007199254740993}`, `[{"op":"increment","path":"/n","value":1e3},{"op":"test","path":"/n","value":0}]`)
	f.Fuzz(func(t *testing.T, body, text string) {
		if v, err := ejson.Parse([]byte(body)); err != nil || v.Kind() != ejson.Object {
			return
		}
		p, result, err := apply(body, text, 10_000)
		if err != nil {
			if _, wire := compat.AsError(err); !wire && p != nil {
				t.Fatal(err)
			}
			return
		}
		made, err := ejson.Parse(result.Body)
		if err != nil || made.Kind() != ejson.Object || !made.Canonical() {
			t.Errorf("%s and %s became %s: %v", body, text, result.Body, err)
		}
		if len(result.Body) > 10_000 {
			t.Errorf("%d bytes", len(result.Body))
		}
	})
}
