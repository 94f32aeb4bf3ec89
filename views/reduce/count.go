package reduce

import (
	"math/big"
	"strconv"
)

// count is _count. An aggregate is a decimal number.
type count struct{}

// CountAggregate is the aggregate of _count for n rows.
func CountAggregate(n int64) Aggregate { return strconv.AppendInt(nil, n, 10) }

// SumAggregate is the aggregate of _sum for rows whose values are integers with that sum: hi·2^64 +
// lo.
func SumAggregate(hi int64, lo uint64) Aggregate {
	if hi == int64(lo)>>63 {
		return strconv.AppendInt(nil, int64(lo), 10)
	}
	n := big.NewInt(hi)
	n.Lsh(n, 64)
	return n.Add(n, new(big.Int).SetUint64(lo)).Append(nil, 10)
}

func (count) kind() Kind { return KindCount }

func (count) reduce(rows []Row) (Aggregate, error) { return CountAggregate(int64(len(rows))), nil }

func (count) rereduce(aggregates []Aggregate) (Aggregate, error) {
	var total int64
	for _, a := range aggregates {
		n, ok := SmallInt(a)
		if !ok {
			return nil, corrupt("_count")
		}
		total += n
	}
	return CountAggregate(total), nil
}

func (count) finish(_ string, a Aggregate) ([]byte, error) { return a, nil }
