package functions

import (
	"math"
	"slices"

	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// aggregates are the functions of many rows, by name, with what makes a result of the values.
var aggregates = map[string]func(a *Aggregate) datum.Value{
	"COUNT":     func(a *Aggregate) datum.Value { return datum.Integer(a.count) },
	"COUNTN":    func(a *Aggregate) datum.Value { return datum.Integer(a.count) },
	"SUM":       func(a *Aggregate) datum.Value { return a.best },
	"MIN":       func(a *Aggregate) datum.Value { return a.best },
	"MAX":       func(a *Aggregate) datum.Value { return a.best },
	"AVG":       (*Aggregate).mean,
	"MEAN":      (*Aggregate).mean,
	"ARRAY_AGG": (*Aggregate).array,
	"MEDIAN":    (*Aggregate).median,
	// The spread of all values there are (POP), or an estimate of it from some of them (SAMP), of which
	// the plain names differ only for a single value.
	"VAR_POP":       deviation(0, 0, false),
	"VARIANCE_POP":  deviation(0, 0, false),
	"STDDEV_POP":    deviation(0, 0, true),
	"VAR_SAMP":      deviation(1, 2, false),
	"VARIANCE_SAMP": deviation(1, 2, false),
	"STDDEV_SAMP":   deviation(1, 2, true),
	"VARIANCE":      deviation(1, 0, false),
	"STDDEV":        deviation(1, 0, true),
}

// IsAggregate reports whether a name in capitals is one of an aggregate.
func IsAggregate(name string) bool { return aggregates[name] != nil }

// Aggregate is an aggregate at work, which takes the values of rows one after the other. It is for
// one goroutine at a time.
type Aggregate struct {
	name    string
	count   int64
	best    datum.Value // sum, minimum or maximum so far
	list    []datum.Value
	numbers []float64
}

// NewAggregate is an aggregate, by its name in capitals, that has no values yet.
func NewAggregate(name string) *Aggregate { return &Aggregate{name: name, best: datum.Null} }

// Takes reports whether a value counts: those that are not known do not, nor what is no number where
// it is calculated; ARRAY_AGG has NULL.
func (a *Aggregate) Takes(v *datum.Value) bool {
	switch a.name {
	case "ARRAY_AGG":
		return v.Kind != datum.KindMissing
	case "COUNT", "MIN", "MAX":
		return !v.Unknown()
	}
	return v.Kind == datum.KindNumber
}

// Add adds a value that counts. size is what it takes in memory from now on, where kept is set as long
// as the aggregate is there, else until it has another one. An error is datum.ErrTooLarge.
func (a *Aggregate) Add(v *datum.Value) (size int, kept bool, err error) {
	a.count++
	better := a.count == 1
	switch a.name {
	case "COUNT", "COUNTN":
		return 0, false, nil
	case "ARRAY_AGG":
		own, size, err := v.Detach()
		a.list = append(a.list, own)
		return size, true, err
	case "MIN":
		better = better || datum.Compare(v, &a.best) < 0
	case "MAX":
		better = better || datum.Compare(v, &a.best) > 0
	case "SUM", "AVG", "MEAN":
		if !better && a.best.Kind == datum.KindNumber { // else the sum is beyond the doubles already
			a.best = datum.Calculate("+", &a.best.Num, &v.Num)
		}
	default:
		a.numbers = append(a.numbers, v.Num.Float())
		return 8, true, nil
	}
	if better {
		a.best, size, err = v.Detach()
	}
	return size, false, err
}

// Count counts a row that has no value.
func (a *Aggregate) Count() { a.count++ }

// Result is the value for all that was added. More may be added after it.
func (a *Aggregate) Result() datum.Value { return aggregates[a.name](a) }

// array are the values in their order, as in Couchbase.
func (a *Aggregate) array() datum.Value {
	if len(a.list) == 0 {
		return datum.Null
	}
	list := slices.Clone(a.list)
	slices.SortStableFunc(list, func(a, b datum.Value) int { return datum.Compare(&a, &b) })
	return datum.Array(list)
}

func (a *Aggregate) mean() datum.Value {
	if a.best.Kind != datum.KindNumber {
		return datum.Null
	}
	n := datum.Number{Integer: a.count}
	return datum.Calculate("/", &a.best.Num, &n)
}

// median is the value in the middle, or the mean of both that are there.
func (a *Aggregate) median() datum.Value {
	n := len(a.numbers)
	if n == 0 {
		return datum.Null
	}
	slices.Sort(a.numbers)
	return datum.Float(a.numbers[(n-1)/2]/2 + a.numbers[n/2]/2)
}

// deviation is a variance, or the root of one. less is what is taken from the number of values where
// there are several; of fewer values than least it is NULL, and of one else 0.
func deviation(less, least int, root bool) func(a *Aggregate) datum.Value {
	return func(a *Aggregate) datum.Value {
		n := len(a.numbers)
		switch {
		case n == 0 || n < least:
			return datum.Null
		case n == 1:
			return datum.Integer(0)
		}
		sum, squares := 0.0, 0.0
		for _, f := range a.numbers {
			sum += f
		}
		mean := sum / float64(n)
		for _, f := range a.numbers {
			squares += (f - mean) * (f - mean)
		}
		variance := squares / float64(n-less)
		if root {
			variance = math.Sqrt(variance)
		}
		return datum.Float(variance)
	}
}
