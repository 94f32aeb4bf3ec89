package designs

import (
	"context"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/memory"
	"github.com/settee-db/settee/storage/docread"
)

// This file has the code that all kinds of functions of design documents share. Each kind of
// function has a file of its own: show.go, update.go, list.go and rewrite.go; filters and
// validation functions are in package documents of the floor below.

// callFunction runs a function and gives what the query server protocol has it answer. A long
// answer is held with its parsed form, or dropped at once where there is no memory for it: who
// waited for some would have it already.
func callFunction(
	ctx context.Context, m docread.Memory, d *js.Design, path []string, args ...[]byte,
) (ejson.Value, error) {
	now, cancel := context.WithCancel(ctx)
	cancel()
	v, err := d.Call(ctx, func(text []byte) error {
		err := docread.HoldParsed(now, m, text)
		if errors.Is(err, context.Canceled) && ctx.Err() == nil {
			return memory.ErrBusy
		}
		return err
	}, path, args...)
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
