package aggregate

import (
	"context"
	"math/big"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/views/reduce"
)

// The reduce functions that views compute the same with.
var (
	sums       = builtin("_sum")
	statistics = builtin("_stats")
	estimates  = builtin("_approx_count_distinct")
)

func builtin(name string) reduce.Func {
	f, err := reduce.New(name, reduce.Options{})
	if err != nil {
		panic(err)
	}
	return f
}

// joined adds a row to an aggregate, which is empty for none.
func joined(ctx context.Context, f reduce.Func, a reduce.Aggregate, row reduce.Row) (reduce.Aggregate, error) {
	one, err := f.Reduce(ctx, [][]reduce.Row{{row}})
	if err != nil || len(a) == 0 {
		return first(one), err
	}
	both, err := f.Rereduce(ctx, [][]reduce.Aggregate{{one[0], a}})
	return first(both), err
}

func first(list []reduce.Aggregate) reduce.Aggregate {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

func appendFinished(ctx context.Context, dst []byte, f reduce.Func, a reduce.Aggregate) ([]byte, error) {
	values, err := f.Finish(ctx, "_aggregate", []reduce.Aggregate{a})
	if err != nil {
		return dst, err
	}
	return append(dst, values[0].JSON...), nil
}

// numbers is $sum and $stats: what the reduce function of a view makes of the values that are
// numbers. Integers of 64 bits are added up in a tally, which takes no memory; others go to an
// aggregate.
type numbers struct {
	fn    reduce.Func
	tally reduce.Tally
	rest  reduce.Aggregate
	json  []byte
	n     int64
}

// add takes a number into the tally while that is exact, which needs no memory, and into the
// aggregate of the reduce function otherwise. What is no number does not count.
func (s *numbers) add(ctx context.Context, v ejson.Value, _ []byte) (grown int, err error) {
	if !isNumber(v) {
		return 0, nil
	}
	s.n++
	s.json = v.AppendJSON(s.json[:0])
	t := s.tally
	if t.Add(s.fn.Kind(), s.json); t.Exact(s.fn.Kind()) {
		s.tally = t
		return 0, nil
	}
	before := len(s.rest)
	s.rest, err = joined(ctx, s.fn, s.rest, reduce.Row{Value: s.json})
	return len(s.rest) - before, err
}

// join implements summable.
func (s *numbers) join(ctx context.Context, f *reduce.FieldStats) (known bool, err error) {
	if f.Count == 0 {
		return true, nil
	}
	s.n += f.Count
	list := []reduce.Aggregate{f.Sum}
	if s.fn.Kind() == reduce.KindStats {
		list[0] = f.Stats
	}
	if len(s.rest) > 0 {
		list = append(list, s.rest)
	}
	both, err := s.fn.Rereduce(ctx, [][]reduce.Aggregate{list})
	s.rest = first(both)
	return true, err
}

// total is the aggregate of all numbers, of which there is at least one.
func (s *numbers) total(ctx context.Context) (reduce.Aggregate, error) {
	if s.tally.Rows == 0 {
		return s.rest, nil
	}
	tallied := s.tally.Aggregate(s.fn.Kind())
	if len(s.rest) == 0 {
		return tallied, nil
	}
	both, err := s.fn.Rereduce(ctx, [][]reduce.Aggregate{{s.rest, tallied}})
	return first(both), err
}

// appendResult prints what the reduce function shows of all numbers; without any, 0 for a sum and
// null for statistics.
func (s *numbers) appendResult(ctx context.Context, dst []byte) ([]byte, bool, error) {
	switch {
	case s.n == 0 && s.fn.Kind() == reduce.KindSum:
		return append(dst, '0'), false, nil
	case s.n == 0:
		return append(dst, "null"...), false, nil
	}
	a, err := s.total(ctx)
	if err != nil {
		return dst, false, err
	}
	dst, err = appendFinished(ctx, dst, s.fn, a)
	return dst, false, err
}

// average is $avg: the sum of the numbers divided by how many there are, as a double.
type average struct{ numbers }

// appendResult divides the sum once, at the end: an exact sum of integers is rounded to a double
// only in the quotient.
func (s *average) appendResult(ctx context.Context, dst []byte) ([]byte, bool, error) {
	if s.n == 0 {
		return append(dst, "null"...), false, nil
	}
	json, _, err := s.numbers.appendResult(ctx, nil)
	if err != nil {
		return dst, false, err
	}
	sum, err := ejson.Parse(json)
	if err != nil {
		return dst, false, err
	}
	if sum.Kind() == ejson.Int {
		f, _ := new(big.Rat).SetFrac(sum.BigInt(), big.NewInt(s.n)).Float64()
		return ejson.AppendFloat(dst, f), false, nil
	}
	f, _ := sum.Float()
	return ejson.AppendFloat(dst, f/float64(s.n)), false, nil
}
