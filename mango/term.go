package mango

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// term prints a JSON value as CouchDB puts it into most reasons.
func term(v ejson.Value) string { return compat.RawTerm(v) }
