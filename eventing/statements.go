package eventing

import (
	"bytes"
	"context"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/eventing/n1ql"
	"github.com/settee-db/settee/mango"
)

// maxPlans bounds the statements whose plans the answer of a test shows.
const maxPlans = 100

// newPlan begins the plan of a statement, in a test; nil otherwise.
func (b *batch) newPlan(text string) *n1ql.Plan {
	if b.plans == nil || len(*b.plans) >= maxPlans {
		return nil
	}
	p := &n1ql.Plan{Text: text, Ways: []*n1ql.Way{}}
	*b.plans = append(*b.plans, p)
	return p
}

// wayOf notes how Mango finds documents, as its _explain tells it.
func (k *batchDB) wayOf(
	ctx context.Context, f *n1ql.Find, plan *mango.Plan, source *mango.Source,
) (*n1ql.Way, error) {
	if k.plan == nil {
		return new(n1ql.Way), nil
	}
	told, err := plan.AppendExplain(ctx, source, nil, k.name)
	if err != nil {
		return nil, err
	}
	explained, err := ejson.Parse(told)
	if err != nil {
		return nil, err
	}
	index, _ := explained.Get("index")
	name, _ := index.Get("name")
	// All documents have an index by their ids; a condition on the id reads a part of it.
	if name.Text() == mango.AllDocs.Name && !bytes.Contains(f.Selector, []byte(`"_id"`)) {
		return k.plan.Took(k.alias, "scan", ""), nil
	}
	return k.plan.Took(k.alias, "index", name.Text()), nil
}
