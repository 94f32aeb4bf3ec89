package compat

import "testing"

func TestTypeListed(t *testing.T) {
	patterns := []string{"text/*", "application/json"}
	for contentType, want := range map[string]bool{
		"text/plain": true, "TEXT/Plain; charset=utf-8": true, " application/json ": true, "application/json;x": true,
		"text": false, "text/": true, "application/jsonp": false, "image/png": false, "": false,
	} {
		if got := TypeListed(contentType, patterns); got != want {
			t.Errorf("TypeListed(%q) = %v", contentType, got)
		}
	}
}
