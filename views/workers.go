package views

import (
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/views/js"
)

// Workers makes a pool of worker processes the JavaScript of Views.
func Workers(pool *js.Pool) JavaScript { return workers{pool} }

type workers struct{ pool *js.Pool }

// CheckMap implements JavaScript.
func (w workers) CheckMap(ctx context.Context, tenant, name, source string) error {
	return notCompiled("map", name, w.pool.CheckMap(ctx, tenant, source))
}

// CheckReduce implements JavaScript.
func (w workers) CheckReduce(ctx context.Context, tenant, name, source string) error {
	return notCompiled("reduce", name, w.pool.CheckReduce(ctx, tenant, source))
}

// notCompiled words the error of a function that does not compile (couch_query_servers:try_compile).
func notCompiled(kind, name string, err error) error {
	if e, ok := compat.AsError(err); ok && e.Kind == compat.KindCompilationError {
		return compat.NewError(e.Kind, "Compilation of the "+kind+" function in the '"+name+"' view failed: "+e.Reason)
	}
	return err
}

// Map implements JavaScript.
func (w workers) Map(ctx context.Context, tenant string, functions []string, lib []byte, docs [][]byte) ([][]MapResult, error) {
	found, _, err := w.pool.Map(ctx, js.NewMapProgram(tenant, functions, lib), docs)
	if err != nil {
		return nil, err
	}
	results := make([][]MapResult, len(found))
	for i, doc := range found {
		results[i] = make([]MapResult, len(doc))
		for k := range doc {
			results[i][k].Failure = doc[k].Err
			if len(doc[k].Rows) > 0 {
				results[i][k].Rows = make([]Emitted, len(doc[k].Rows))
			}
			for r, row := range doc[k].Rows {
				results[i][k].Rows[r] = Emitted(row)
			}
		}
	}
	return results, nil
}
