package views

import (
	"context"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/views/keyrange"
	"github.com/settee-db/settee/views/reduce"
)

// layout explains the form of rows to views/levels.
type layout struct{ raw, partitioned bool }

// Row implements levels.Layout.
func (l layout) Row(key, value []byte) (reduce.Row, int, error) {
	r, err := parseRow(key, value)
	return reduce.Row{Key: r.key, ID: r.id, Value: r.value}, r.keyed, err
}

// Group implements levels.Layout.
func (l layout) Group(keyed []byte, level int) int {
	before := keyrange.PrincipalLength(keyed)
	if l.partitioned {
		before = keyrange.PartitionLength(keyed)
	}
	n := collate.GroupLength(keyed[before:], l.raw, level)
	if n < 0 {
		return len(keyed)
	}
	return before + n
}

// function makes the reduce function of a source.
func (a *aggregates) function(tenant, source string) (reduce.Func, error) {
	limit := a.opts.ReduceLimit
	if limit == nil {
		limit = func() reduce.Limit { return reduce.DefaultLimit }
	}
	o := reduce.Options{Limit: limit}
	if a.opts.JS != nil {
		o.JavaScript = reducer{a.opts.JS, tenant, limit}
	}
	return reduce.New(source, o)
}

// reducer runs reduce functions in JavaScript.
type reducer struct {
	js     JavaScript
	tenant string
	limit  func() reduce.Limit
}

// Reduce implements reduce.JavaScript.
func (r reducer) Reduce(ctx context.Context, source string, groups [][]reduce.Row) ([]reduce.Value, error) {
	calls := make([]js.ReduceGroup, len(groups))
	for i, g := range groups {
		calls[i].Rows = make([]js.ReduceRow, len(g))
		for n := range g {
			calls[i].Rows[n] = js.ReduceRow{Key: g[n].Key, ID: string(g[n].ID), Value: g[n].Value}
		}
	}
	return r.run(ctx, source, "", calls)
}

// Rereduce implements reduce.JavaScript.
func (r reducer) Rereduce(
	ctx context.Context, source, view string, groups [][][]byte,
) ([]reduce.Value, error) {
	calls := make([]js.ReduceGroup, len(groups))
	for i, g := range groups {
		calls[i] = js.ReduceGroup{Rereduce: true, Rows: make([]js.ReduceRow, len(g))}
		for n := range g {
			calls[i].Rows[n].Value = g[n]
		}
	}
	return r.run(ctx, source, view, calls)
}

// run calls a reduce function for several groups in one crossing. An overflow of one group
// (reduce_limit) is the value of that group; any other error is that of all.
func (r reducer) run(ctx context.Context, source, view string, calls []js.ReduceGroup) ([]reduce.Value, error) {
	limit := r.limit()
	results, err := r.js.Reduce(ctx, r.tenant, source, js.ReduceLimit{
		On: limit.On || limit.Log, Threshold: limit.Threshold, Ratio: limit.Ratio, View: view,
	}, calls)
	if err != nil {
		return nil, err
	}
	values := make([]reduce.Value, len(results))
	for i := range results {
		values[i].JSON = results[i].Value
		switch e := results[i].Overflow; {
		case e == nil:
		case limit.Log:
			limit.Tell(e.Error())
		default:
			values[i] = reduce.Value{Overflow: e.Reason}
		}
	}
	return values, nil
}
