package compat

import (
	"strings"
	"testing"

	"github.com/settee-db/settee/compat/ejson"
)

// TestDeepErlangTerm: what is nested too deep is cut; other terms are in testdata/cases/erlang.
func TestDeepErlangTerm(t *testing.T) {
	v, err := ejson.Parse([]byte(strings.Repeat("[", 1000) + strings.Repeat("]", 1000)))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat("[", maxTermDepth+1) + "..." + strings.Repeat("]", maxTermDepth+1)
	if got := ErlangTerm(v); got != want {
		t.Errorf("got %s", got)
	}
}
