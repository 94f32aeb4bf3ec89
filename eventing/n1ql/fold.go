package n1ql

import (
	"slices"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// fold is an aggregate at work.
type fold struct {
	of    *aggregate
	count int64
	best  datum.Value // sum, minimum or maximum so far
	seen  *seen       // of DISTINCT
	list  []datum.Value
	size  int // of the list, in bytes
	held  *memory
}

func newFold(of *aggregate, held *memory) *fold {
	f := &fold{of: of, best: datum.Null, held: held}
	if of.distinct {
		f.seen = newSeen(held)
	}
	return f
}

// addOf takes the argument's value for a document.
func (f *fold) addOf(e *env) error {
	if f.of.of == nil { // COUNT(*)
		f.count++
		return nil
	}
	v, err := f.of.of.eval(e)
	if err != nil {
		return err
	}
	return f.add(&v)
}

// add takes a value. Values that are not known do not count, nor what is no number for SUM and AVG;
// ARRAY_AGG has NULL.
func (f *fold) add(v *datum.Value) (err error) {
	numeric, listed := f.of.name == "SUM" || f.of.name == "AVG", f.of.name == "ARRAY_AGG"
	if v.Kind == datum.KindMissing || v.Kind == datum.KindNull && !listed || numeric && v.Kind != datum.KindNumber {
		return nil
	}
	if f.seen != nil {
		if again, err := f.seen.beforeKey(v.Key()); again || err != nil {
			return err
		}
	}
	f.count++
	if listed {
		return f.keep(v)
	}
	better := f.count == 1
	switch f.of.name {
	case "COUNT":
		return nil
	case "MIN":
		better = better || datum.Compare(v, &f.best) < 0
	case "MAX":
		better = better || datum.Compare(v, &f.best) > 0
	default:
		if !better && f.best.Kind == datum.KindNumber { // else the sum is beyond the doubles already
			f.best = datum.Calculate("+", &f.best.Num, &v.Num)
		}
	}
	if better {
		size := 0
		if f.best, size, err = v.Detach(); err == nil {
			err = f.held.hold(size)
		}
	}
	return err
}

// keep adds a value to the list of ARRAY_AGG.
func (f *fold) keep(v *datum.Value) error {
	own, size, err := v.Detach()
	if err != nil {
		return err
	}
	f.list = append(f.list, own)
	if f.size += size; f.size > maxKeptBytes {
		return limitf("ARRAY_AGG would have to keep more than %d MB in memory", maxKeptBytes>>20)
	}
	return f.held.keep(size)
}

func (f *fold) result() datum.Value {
	switch {
	case len(f.list) > 0: // in order, as in Couchbase
		slices.SortStableFunc(f.list, func(a, b datum.Value) int { return datum.Compare(&a, &b) })
		return datum.Array(f.list)
	case f.of.name == "COUNT":
		return datum.Integer(f.count)
	case f.of.name == "AVG" && f.best.Kind == datum.KindNumber:
		n := datum.Number{Integer: f.count}
		return datum.Calculate("/", &f.best.Num, &n)
	}
	return f.best
}

// seen remembers rows or values.
type seen struct {
	keys map[string]bool
	size int
	held *memory
}

func newSeen(held *memory) *seen { return &seen{keys: map[string]bool{}, held: held} }

// before reports whether an equal row was there before.
func (s *seen) before(row []byte) (bool, error) {
	parsed, err := ejson.Parse(row)
	if err != nil {
		return false, err
	}
	v := datum.FromJSON(parsed)
	return s.beforeKey(v.Key())
}

func (s *seen) beforeKey(key string) (bool, error) {
	if s.keys[key] {
		return true, nil
	}
	s.keys[key] = true
	if s.size += len(key) + datum.ValueSize; s.size > maxKeptBytes {
		return false, limitf("DISTINCT would have to keep more than %d MB in memory", maxKeptBytes>>20)
	}
	return false, s.held.keep(len(key) + datum.ValueSize)
}
