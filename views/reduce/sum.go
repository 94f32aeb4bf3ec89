package reduce

import (
	"errors"
	"fmt"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// sum is _sum. An aggregate is the JSON of what the sum is, an error among them.
type sum struct{ limit func() Limit }

const sumError = "The _sum function requires that map values be numbers, arrays of numbers, or objects. Objects cannot be mixed " +
	"with other data structures. Objects can be arbitrarily nested, provided that the values for all fields are themselves numbers, " +
	"arrays of numbers, or objects."

// errBadSum is a value, as JSON, that cannot be added; errFailedSum an error of an earlier sum
// among the values.
type (
	errBadSum    struct{ cause []byte }
	errFailedSum struct{ object []byte }
)

// Error implements error.
func (e errBadSum) Error() string { return sumError }

// Error implements error.
func (e errFailedSum) Error() string { return string(e.object) }

// appendJSON appends the error as the value of a row.
func (e errBadSum) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"error":"builtin_reduce_error","reason":"`+sumError+`","caused_by":`...)
	return append(append(dst, e.cause...), '}')
}

// caseClause is CouchDB's answer for a value, given as JSON, that it has no case for, with the term
// around it; its reason is the trace of a process.
func caseClause(json []byte, before, after string) error {
	v, err := ejson.Parse(json)
	if err != nil {
		return err
	}
	return compat.Named(compat.KindError, "{case_clause,"+before+compat.ErlangTerm(v)+after+"}",
		"no case clause matching in _sum").WithRef()
}

func (s *sum) kind() Kind { return KindSum }

func (s *sum) reduce(rows []Row) (Aggregate, error) {
	return s.sum("", len(rows), func(i int) []byte { return rows[i].Value }, func() int { return rowsSize(rows) })
}

func (s *sum) rereduce(aggregates []Aggregate) (Aggregate, error) {
	return s.resum("", aggregates)
}

func (s *sum) finish(view string, a Aggregate) ([]byte, error) {
	if _, ok := SmallInt(a); ok {
		return a, nil
	}
	return s.resum(view, []Aggregate{a})
}

func (s *sum) resum(view string, aggregates []Aggregate) (Aggregate, error) {
	return s.sum(view, len(aggregates), func(i int) []byte { return aggregates[i] },
		func() int { return aggregatesSize(aggregates) })
}

// sum adds up n values, JSON texts; inputSize gives the size of all that the function got, view is
// what an overflow names.
func (s *sum) sum(view string, n int, value func(int) []byte, inputSize func() int) (Aggregate, error) {
	total, first := sumInts(n, value)
	acc := term{n: intNumber(total)}
	p := ejson.AcquireParser()
	defer p.Release()
	for i := first; i < n; i++ {
		v, err := valueOf(p, value(i))
		if err != nil {
			return nil, err
		}
		if acc, err = sumValues(v, acc); err != nil {
			var bad errBadSum
			var failed errFailedSum
			switch {
			case errors.As(err, &bad):
				return s.check(view, bad.appendJSON(nil), inputSize)
			case errors.As(err, &failed):
				return s.check(view, failed.object, inputSize)
			}
			return nil, err
		}
	}
	out := acc.appendJSON(nil)
	if acc.kind == termNumber {
		return out, nil
	}
	return s.check(view, out, inputSize)
}

// sumInts adds up the values before the first that is no 64-bit integer, or no longer fits in.
func sumInts(n int, value func(int) []byte) (total int64, next int) {
	for ; next < n; next++ {
		v, ok := SmallInt(value(next))
		s := total + v
		if !ok || (s > total) != (v > 0) {
			break
		}
		total = s
	}
	return total, next
}

func valueOf(p *ejson.Parser, json []byte) (term, error) {
	if n, ok := SmallInt(json); ok {
		return term{n: intNumber(n)}, nil
	}
	v, err := p.Parse(json)
	if err != nil {
		return term{}, corrupt("_sum")
	}
	return termOf(v, 0)
}

// check replaces a sum that is too large (couch_query_servers:check_sum_overflow). Sizes are bytes
// of Erlang's external term format.
func (s *sum) check(view string, json []byte, inputSize func() int) (Aggregate, error) {
	limit := DefaultLimit
	if s.limit != nil {
		limit = s.limit()
	}
	if !limit.On && !limit.Log || len(json)*4 < limit.Threshold { // a term takes less than that
		return json, nil
	}
	out := 1 + termSize(json)
	if out <= limit.Threshold {
		return json, nil
	}
	in := inputSize()
	if float64(out)*limit.Ratio <= float64(in) {
		return json, nil
	}
	reason := fmt.Sprintf("Reduce output must shrink more rapidly: input size: %d output size: %d context: %s", in, out, view)
	if limit.Log {
		limit.Tell(reason)
		return json, nil
	}
	return append(ejson.AppendString([]byte(`{"error":"builtin_reduce_error","reason":`), reason), '}'), nil
}

// termSize is the size of a JSON value as a term.
func termSize(json []byte) int {
	v, err := ejson.Parse(json)
	if err != nil {
		return len(json)
	}
	return len(v.AppendTerm(nil))
}

// The sizes of a list's head and tail, and of what a binary has before its bytes.
const (
	listSize   = 5 + 1
	binarySize = 5
)

// rowsSize is the size of [[[Key, Id], Value], …].
func rowsSize(rows []Row) int {
	size := 1 + listSize
	for _, r := range rows {
		size += 2*listSize + termSize(r.Key) + binarySize + len(r.ID) + termSize(r.Value)
	}
	return size
}

// aggregatesSize is the size of [[[], Value], …].
func aggregatesSize(aggregates []Aggregate) int {
	size := 1 + listSize
	for _, a := range aggregates {
		size += listSize + 1 + termSize(a)
	}
	return size
}
