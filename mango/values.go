package mango

import (
	"context"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
)

// Values runs the plan as Find does, for callers who compute with what it finds: take gets the id of
// each document of the page, and in the order of the request's fields their values; one of kind
// Invalid where the document has no such field. Both are valid until take returns, and an error of
// take ends the run and is returned as it is. The request must name fields.
func (p *Plan) Values(
	ctx context.Context, src *Source, take func(id []byte, values []ejson.Value) error,
) (*Answer, error) {
	paths := p.req.Fields.paths
	values := make([]ejson.Value, len(paths))
	return p.run(ctx, src, func(f *finder, r *found) error {
		doc, err := f.parseShown(r)
		if err != nil {
			return err
		}
		for i := range paths {
			value, how, err := paths[i].get(doc)
			if err != nil {
				return err
			}
			if values[i] = value; how != foundValue {
				values[i] = ejson.Value{}
			}
		}
		return take(r.id, values)
	})
}

// Conjunction is what a selector asks of single fields, each by itself.
type Conjunction struct {
	Equal  map[string]ejson.Value // fields that have to equal a value
	Exists map[string]bool        // fields that documents without them do not pass for
}

// Conjunction tells what the selector asks of single fields. whole is false where it asks something
// else besides.
func (s *Selector) Conjunction() (c Conjunction, whole bool) {
	c = Conjunction{Equal: make(map[string]ejson.Value), Exists: make(map[string]bool)}
	if s.root == nil {
		return c, true
	}
	kids := []*condition{s.root}
	if s.root.op == opAnd {
		kids = s.root.kids
	}
	whole = true
	for _, kid := range kids {
		whole = c.add(kid) && whole
	}
	return c, whole
}

// add takes one condition; it reports whether that is all the condition asks. Fields of the server's
// own are compared in another order than that of an index.
func (c *Conjunction) add(cond *condition) (whole bool) {
	if cond.op != opField || cond.name == "" || strings.HasPrefix(cond.name, "_") {
		return false
	}
	inner := cond.kids[0]
	if inner.op == opExists && !inner.exists {
		return false
	}
	c.Exists[cond.name] = true
	if inner.op != opEq {
		return inner.op == opExists
	}
	_, twice := c.Equal[cond.name]
	c.Equal[cond.name] = inner.arg
	return !twice
}
