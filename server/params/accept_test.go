package params

import (
	"errors"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
)

func TestAcceptTakes(t *testing.T) {
	for _, test := range []struct {
		header, mediaType string
		want              bool
	}{
		{"*/*", "application/json", true},
		{"text/plain, application/*", "application/json", true},
		{"text/plain, */*; q=0.0", "application/json", false},
		{"text/plain; q=0.5, */*; q=0.1", "application/json", true},
		{"text/*; q=0.0, */*", "text/plain", false},
		{"multipart/*", "multipart/mixed", true},
		{"application/json, multipart/mixed", "multipart/mixed", true},
		{"Multipart/Mixed", "multipart/mixed", true},
		{"multipart/mixed;q=0, */*", "multipart/mixed", false},
		{"multipart/mixed;boundary=x", "multipart/mixed", false},
		{"multipart/mixed;q=0.001", "multipart/mixed", true},
		{"multipart/mixed;q=2", "multipart/mixed", false},   // not well formed
		{"multipart/mixed;q=1.5", "multipart/mixed", false}, // not well formed
		{"multipart/mixed;x", "multipart/mixed", false},     // not well formed
		{"multipart/mixed,;", "multipart/mixed", false},     // not well formed
		{",,multipart/mixed , ,", "multipart/mixed", true},
		{"", "application/json", false},
	} {
		if got := ParseAccept(test.header, true).Takes(test.mediaType); got != test.want {
			t.Errorf("%q takes %s: %v", test.header, test.mediaType, got)
		}
	}
	if !ParseAccept("", false).Takes("multipart/related") {
		t.Error("an absent header does not take multipart/related")
	}
}

func TestAcceptDecisions(t *testing.T) {
	for _, test := range []struct {
		header, bulkGet string
		login           bool
	}{
		{"*/*", "", false},
		{"application/json", "", false},
		{"multipart/mixed", "multipart/mixed", false},
		{"multipart/related", "multipart/related", false},
		{"multipart/*", "multipart/mixed", false},
		{"multipart/related, application/json", "", false},
		{"text/html", "", true},
		{"text/*,application/xml;q=0.9", "", true},
		{"text/html,*/*;q=0.8", "", false},
		{"text/html,application/json;q=0", "", true},
		{"text/html;q=0", "", false},
	} {
		a := ParseAccept(test.header, true)
		got, ok := a.BulkGetMultipart()
		if got != test.bulkGet || ok != (got != "") || a.WantsLoginPage() != test.login {
			t.Errorf("%q: got %q, login page %v", test.header, got, a.WantsLoginPage())
		}
	}
}

func TestAcceptsGzip(t *testing.T) {
	for header, want := range map[string]bool{
		"": false, "gzip": true, "GZIP": true, "gzip, deflate": true, "gzip;q=0": false, "gzip;q=0.5": true, "*": true,
		"identity": false, "identity;q=0, gzip": true, "*;q=0, gzip": true, "gzip;q=0, *": false, "deflate": false,
	} {
		if got, err := AcceptsGzip(header); err != nil || got != want {
			t.Errorf("%q: got %v, %v", header, got, err)
		}
	}
	for header, kind := range map[string]compat.Kind{
		"gzip;q=x": compat.KindBadRequest, "identity;q=0": compat.KindNotAcceptable, "*;q=0": compat.KindNotAcceptable,
		"gzip;q=0,identity;q=0": compat.KindNotAcceptable,
	} {
		if _, err := AcceptsGzip(header); !errors.Is(err, kind) {
			t.Errorf("%q: got %v", header, err)
		}
	}
}

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
