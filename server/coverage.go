package server

import (
	"fmt"
	"strings"

	"github.com/settee-db/settee/server/functions"
)

//go:generate go test . -run TestAPICoverage -update

// APICoverage is the text of docs/api-coverage.md: the route table.
func APICoverage() string {
	all := append(routes(nil, nil, nil, nil, nil, nil, nil), new(functions.Handlers).Routes()...)
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"# API coverage\n\nMade from the route tables of the packages below server (`go generate ./server`): %d rows, CouchDB 3.5's API and settee's\nextensions.\n\n| path | methods | access | |\n|---|---|---|---|\n",
		len(all),
	)
	for _, r := range all {
		methods := r.Methods
		if methods == "*" {
			methods = "all"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Pattern, methods, r.Access, r.Doc)
	}
	return b.String()
}
