package server

import (
	"fmt"
	"strings"
)

//go:generate go test . -run TestAPICoverage -update

// APICoverage is the text of docs/api-coverage.md: the route table.
func APICoverage() string {
	var b strings.Builder
	have := 0
	for i := range routes {
		if routes[i].present() {
			have++
		}
	}
	fmt.Fprintf(&b, "# API coverage\n\nMade from the route table in server/routes.go (`go generate ./server`). %d of %d rows of CouchDB 3.5's API answer; "+
		"the others answer 501 `not_implemented`.\n\n| path | methods | access | state | |\n|---|---|---|---|---|\n", have, len(routes))
	for i := range routes {
		r := &routes[i]
		state := "yes"
		if !r.present() {
			state = "missing"
		}
		methods := r.Methods
		if methods == "*" {
			methods = "all"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.Pattern, methods, r.Access, state, r.Doc)
	}
	return b.String()
}

// present tells whether the endpoint does what it is for.
func (r *Route) present() bool { return r.Handle != nil && r.Mark != unfinished }
