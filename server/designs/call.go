package designs

import (
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/js"
)

// This file has the code that all kinds of functions of design documents share. Each kind of
// function has a file of its own: show.go, update.go, list.go and rewrite.go; filters and
// validation functions are in package documents of the floor below.

// callFunction runs a function and gives what the query server protocol has it answer.
func callFunction(ctx context.Context, d *js.Design, path []string, args ...[]byte) (ejson.Value, error) {
	v, err := d.Call(ctx, path, args...)
	return v, documents.FunctionError(err)
}

// badMatch is the error with which CouchDB crashes on an answer that its code does not expect.
func badMatch(v ejson.Value) *compat.Error {
	return compat.Named(compat.KindUnknown, "badmatch", compat.ErlangText(v))
}

// answer takes an answer of the form [word, …] apart. It returns the n values after the word.
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
