package replication

import (
	"errors"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat/ejson"
)

func TestStripPassword(t *testing.T) {
	if got := StripPassword("http://u:secret@h/db"); got != "http://u:*****@h/db" {
		t.Error(got)
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, seed := range []string{
		`{"source":"http://a/b","target":{"url":"https://u:p@c/d","headers":{"x":"y"},"auth":{"basic":{"username":"u","password":"p"}}}}`,
		`{"source":"http://[::1]:1/?x","target":"http://c","selector":{"a":[1,{"b":2}]},"since_seq":[1,"x"]}`,
		`{"source":"http://a","target":"http://c","filter":"_view","query_params":{"view":"a/b"},"doc_ids":null}`,
		`{"cancel":true,"id":"a b"}`, `{"source":null}`, `{"source":"http://a","target":"http://b","doc_ids":["%zz","a+b"],"worker_processes":"7","proxy":"socks5://p"}`,
	} {
		f.Add([]byte(seed))
	}
	set := DefaultSettings()
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := ejson.Parse(text)
		if err != nil || doc.Kind() != ejson.Object {
			return
		}
		s, err := ParseSpec(doc, &set)
		if err != nil {
			var bad *SpecError
			if !errors.As(err, &bad) || bad.Forbidden() == "" {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		s.SetID(&set, "code")
		again, err := ParseSpec(doc, &set)
		if err != nil || again.fingerprint() != s.fingerprint() && s.Options.CancelID == nil {
			t.Fatal("reads differently again")
		}
		if s.Source.Password != "" && len(s.Source.Password) > 3 &&
			strings.Contains(s.Source.DisplayURL(), ":"+s.Source.Password+"@") {
			t.Fatalf("password is shown: %s", s.Source.DisplayURL())
		}
	})
}

func FuzzGuard(f *testing.F) {
	f.Add("10.0.0.0/8, ::1", "169.254.0.0/16")
	f.Add("x", "1.2.3.4/99")
	f.Fuzz(func(t *testing.T, allow, deny string) {
		g, err := ParseGuard(allow, deny)
		if err != nil {
			return
		}
		for _, p := range g.deny {
			if g.Allows(p.Addr()) {
				t.Fatalf("%s is denied and allowed", p)
			}
		}
	})
}
