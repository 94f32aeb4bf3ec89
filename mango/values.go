package mango

import (
	"context"
	"errors"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/storage"
)

// Values runs the plan as Find does, for callers who compute with what it finds: take gets the id of
// each document of the page, and in the order of the request's fields their values; one of kind
// Invalid where the document has no such field. Both are valid until take returns. storage.ErrStop of
// take ends the run without an error; another one is returned as it is. The request must name fields.
func (p *Plan) Values(
	ctx context.Context, src *Source, take func(id []byte, values []ejson.Value) error,
) (*Answer, error) {
	paths := p.req.Fields.Paths
	values := make([]ejson.Value, len(paths))
	return p.run(ctx, src, true, func(f *finder, r *found) error {
		shown, err := f.appendRow(f.out[:0], r)
		if err != nil {
			return err
		}
		f.out = shown
		doc, err := f.scratch.parser.Parse(shown)
		if err != nil {
			return err
		}
		for i := range paths {
			value, how, err := paths[i].Get(doc)
			if err != nil {
				return err
			}
			if values[i] = value; how != selector.FoundValue {
				values[i] = ejson.Value{}
			}
		}
		if err := take(r.id, values); !errors.Is(err, storage.ErrStop) {
			return err
		}
		return errEnough
	})
}
