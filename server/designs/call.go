package designs

import (
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/js"
)

// This file is what all functions of design documents have in common. Each kind of function has a file of its own:
// ddocshow.go, ddocupdate.go, ddoclist.go, ddocrewrite.go; filters and validation functions are in
// package documents of the floor below.

// callFunction runs a function and gives what the query server protocol has it answer.
func callFunction(ctx context.Context, d *js.Design, path []string, args ...[]byte) (ejson.Value, error) {
	v, err := d.Call(ctx, path, args...)
	return v, documents.FunctionError(err)
}

// badMatch is the crash of the real server on an answer it does not expect.
func badMatch(v ejson.Value) *compat.Error {
	return compat.Named(compat.KindUnknown, "badmatch", compat.ErlangText(v))
}

// answer takes an answer apart that must be an array beginning with a word.
func answer(v ejson.Value, word string, values int) ([]ejson.Value, bool) {
	if v.Kind() != ejson.Array || v.Len() != values+1 {
		return nil, false
	}
	list := make([]ejson.Value, 0, values+1)
	for e := range v.Elements() {
		list = append(list, e)
	}
	return list[1:], list[0].TextIs(word)
}
