package compat

import (
	"testing"

	"github.com/settee-db/settee/compat/ejson"
)

func TestThrown(t *testing.T) {
	for _, c := range []struct {
		word, reason, want string
		status             int
	}{
		{"not_found", `"nf"`, `not_found "nf"`, 404},
		{"not_found", `null`, `not_found null`, 404},
		{"not_implemented", `null`, `not_implemented "this feature is not yet implemented"`, 501},
		{"forbidden", `{"a":1}`, `forbidden {"a":1}`, 403},
		{"unauthorized", `["a"]`, `unauthorized "a"`, 401},
		{"conflict", `"cf"`, `conflict "Document update conflict."`, 409},
		{"mykey", `"r"`, `mykey "r"`, 500},
		{"mykey", `5`, `mykey "5"`, 500},
		{"mykey", `{}`, `mykey "{[]}"`, 500},
		{"mykey", `null`, `unknown_error "mykey"`, 500},
		{"Custom", `{"name":"Custom"}`, `Custom "{[{<<\"name\">>,<<\"Custom\">>}]}"`, 500},
		{"timeout", `"x"`, `timeout "The request could not be processed in a reasonable amount of time."`, 500},
		{"method_not_allowed", `"no"`, `method_not_allowed "no"`, 405},
	} {
		v, err := ejson.Parse([]byte(c.reason))
		if err != nil {
			t.Fatal(err)
		}
		e := Thrown(c.word, v)
		if got := e.Word() + " " + string(e.AppendReason(nil)); got != c.want || e.Status() != c.status {
			t.Errorf("%s %s: %d %s, want %d %s", c.word, c.reason, e.Status(), got, c.status, c.want)
		}
	}
}
