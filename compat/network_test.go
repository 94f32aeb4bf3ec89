package compat

import "testing"

func TestParseNetwork(t *testing.T) {
	for text, want := range map[string]string{
		"10.1.2.3/8":         "10.0.0.0/8", // the bits of the host do not count
		"192.0.2.7":          "192.0.2.7/32",
		"0.0.0.0/0":          "0.0.0.0/0",
		"::ffff:192.0.2.7":   "192.0.2.7/32", // an IPv4 client of an IPv6 socket
		"2001:db8::1":        "2001:db8::1/128",
		"2001:db8:ffff::/32": "2001:db8::/32",
	} {
		if got, err := ParseNetwork(text); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "localhost", "10.0.0.0/33", "10.0.0/8", "10.0.0.1:80", " 10.0.0.1", "::1/129"} {
		if got, err := ParseNetwork(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
