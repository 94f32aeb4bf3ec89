package replication

import (
	"errors"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat/ejson"
)

func TestParseURL(t *testing.T) {
	for _, c := range []struct {
		text, host, path string
		port             int
		ok               bool
	}{
		{"http://host", "host", "/", 80, true},
		{"https://u:p@host:1/x?y=1", "host", "/x?y=1", 1, true},
		{"http://host?q", "host", "/?q", 80, true},
		{"http://[::1]:42/db", "::1", "/db", 42, true},
		{"http://", "", "", 0, false},
		{"http://h:port/x", "", "", 0, false},
		{"gopher://h/x", "", "", 0, false},
		{"http://[x]/", "", "", 0, false},
	} {
		u, ok := parseURL(c.text)
		if ok != c.ok || ok && (u.host != c.host || u.path != c.path || u.port != c.port) {
			t.Errorf("%s: %+v %v", c.text, u, ok)
		}
	}
	if got := StripPassword("http://u:secret@h/db"); got != "http://u:*****@h/db" {
		t.Error(got)
	}
}

func TestCredentials(t *testing.T) {
	set := DefaultSettings()
	for _, c := range []struct{ endpoint, url, user, pass string }{
		{`"http://u:p@h/db"`, "http://h/db/", "u", "p"},
		{`"http://u:p:q@h/db?x=1"`, "http://h/db?x=1", "u", "p:q"},
		{`"http://junk@h/db"`, "http://h/db/", "", ""},
		{`{"url":"http://u1:p1@h/db","auth":{"basic":{"username":"u2","password":"p2"}}}`, "http://h/db/", "u2", "p2"},
		{`{"url":"http://u1:p1@h/db","auth":{"basic":{"username":"u2"}}}`, "http://h/db/", "u1", "p1"},
		{`{"url":"http://h/db","headers":{"aUthoriZation":"bASIC VTpw"}}`, "http://h/db/", "U", "p"},
		{`{"url":"http://h/db","headers":{"Authorization":"Basic !!"}}`, "http://h/db/", "", ""},
	} {
		doc, err := ejson.Parse([]byte(`{"source":` + c.endpoint + `,"target":"http://t/"}`))
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseSpec(doc, &set)
		if err != nil {
			t.Errorf("%s: %v", c.endpoint, err)
			continue
		}
		if e := s.Source; e.URL != c.url || e.User != c.user || e.Password != c.pass {
			t.Errorf("%s: %+v", c.endpoint, e)
		}
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

func TestUseCheckpoints(t *testing.T) {
	set := DefaultSettings()
	for option, want := range map[string]bool{
		"": true, `,"use_checkpoints":true`: true, `,"use_checkpoints":false`: false,
		// CouchDB looks for false and takes what is no boolean as it comes.
		`,"use_checkpoints":null`: true, `,"use_checkpoints":"x"`: true, `,"use_checkpoints":0`: true,
	} {
		doc, err := ejson.Parse([]byte(`{"source":"http://s/a","target":"http://t/b"` + option + `}`))
		if err != nil {
			t.Fatal(err)
		}
		spec, err := ParseSpec(doc, &set)
		if err != nil {
			t.Errorf("%s: %v", option, err)
		} else if got := spec.Options.UseCheckpoints; got != want {
			t.Errorf("%s: %v instead of %v", option, got, want)
		}
	}
}
