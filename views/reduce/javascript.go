package reduce

import (
	"context"

	"github.com/settee-db/settee/compat"
)

// JavaScript runs reduce functions; js has it. Each method is one crossing to the process that runs
// them: results[i] is that of groups[i]. A function that throws gives null, one whose result is too
// large an overflow (reduce_limit).
type JavaScript interface {
	Reduce(ctx context.Context, source string, groups [][]Row) (results []Value, err error)
	// Rereduce has the view that an overflow names, "" for none.
	Rereduce(ctx context.Context, source, view string, groups [][][]byte) (results []Value, err error)
}

// javaScript is a function in JavaScript. An aggregate is JSON, or overflowMark and the reason of
// an overflow.
type javaScript struct {
	source string
	run    JavaScript
}

const overflowMark = 1

// Kind implements Func.
func (j *javaScript) Kind() Kind { return KindOther }

// Reduce implements Func.
func (j *javaScript) Reduce(ctx context.Context, groups [][]Row) ([]Aggregate, error) {
	if j.run == nil {
		return nil, compat.ErrNotImplemented
	}
	if len(groups) == 0 {
		return nil, nil
	}
	values, err := j.run.Reduce(ctx, j.source, groups)
	if err != nil {
		return nil, err
	}
	return aggregatesOf(values, len(groups))
}

// Rereduce implements Func.
func (j *javaScript) Rereduce(ctx context.Context, groups [][]Aggregate) ([]Aggregate, error) {
	return j.rereduce(ctx, "", groups)
}

// rereduce is Rereduce for a view. An overflow among the aggregates is the result
// (couch_query_servers:get_overflow_error).
func (j *javaScript) rereduce(ctx context.Context, view string, groups [][]Aggregate) ([]Aggregate, error) {
	if j.run == nil {
		return nil, compat.ErrNotImplemented
	}
	out := make([]Aggregate, len(groups))
	var asked []int
	var values [][][]byte
	for i, g := range groups {
		if out[i] = firstOverflow(g); out[i] != nil {
			continue
		}
		list := make([][]byte, len(g))
		for k, a := range g {
			list[k] = a
		}
		asked, values = append(asked, i), append(values, list)
	}
	if len(asked) == 0 {
		return out, nil
	}
	results, err := j.run.Rereduce(ctx, j.source, view, values)
	if err != nil {
		return nil, err
	}
	reduced, err := aggregatesOf(results, len(asked))
	if err != nil {
		return nil, err
	}
	for k, i := range asked {
		out[i] = reduced[k]
	}
	return out, nil
}

// Finish implements Func.
func (j *javaScript) Finish(ctx context.Context, view string, aggregates []Aggregate) ([]Value, error) {
	groups := make([][]Aggregate, len(aggregates))
	for i, a := range aggregates {
		groups[i] = []Aggregate{a}
	}
	reduced, err := j.rereduce(ctx, view, groups)
	if err != nil {
		return nil, err
	}
	values := make([]Value, len(reduced))
	for i, a := range reduced {
		if a[0] == overflowMark {
			values[i].Overflow = string(a[1:])
		} else {
			values[i].JSON = a
		}
	}
	return values, nil
}

// firstOverflow returns the first aggregate that holds an overflow, nil for none. Whatever is
// reduced with an overflow is one, and JavaScript is not called for it.
func firstOverflow(group []Aggregate) Aggregate {
	for _, a := range group {
		if len(a) > 0 && a[0] == overflowMark {
			return a
		}
	}
	return nil
}

// aggregatesOf turns the results of a JavaScript function into aggregates. A result that is too
// large becomes one that begins with overflowMark and holds the reason: it is stored like any
// other, and the query that meets it shows the error. No result, as that of a function without
// return, is null.
func aggregatesOf(values []Value, want int) ([]Aggregate, error) {
	if len(values) != want {
		return nil, compat.NewError(compat.KindUnknown, "reduce function gave another number of results")
	}
	out := make([]Aggregate, len(values))
	for i, v := range values {
		switch {
		case v.Overflow != "":
			out[i] = append([]byte{overflowMark}, v.Overflow...)
		case len(v.JSON) == 0:
			out[i] = Aggregate("null")
		default:
			out[i] = v.JSON
		}
	}
	return out, nil
}
