package n1ql

import (
	"slices"

	"github.com/settee-db/settee/compat/ejson"
)

// fold is an aggregate at work.
type fold struct {
	of    *aggregate
	count int64
	best  value // sum, minimum or maximum so far
	seen  *seen // of DISTINCT
	list  []value
	size  int // of the list, in bytes
	held  *memory
}

func newFold(of *aggregate, held *memory) *fold {
	f := &fold{of: of, best: null, held: held}
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
func (f *fold) add(v *value) (err error) {
	numeric, listed := f.of.name == "SUM" || f.of.name == "AVG", f.of.name == "ARRAY_AGG"
	if v.kind == kindMissing || v.kind == kindNull && !listed || numeric && v.kind != kindNumber {
		return nil
	}
	if f.seen != nil {
		if again, err := f.seen.beforeKey(string(appendKey(nil, v, 0))); again || err != nil {
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
		better = better || compare(v, &f.best) < 0
	case "MAX":
		better = better || compare(v, &f.best) > 0
	default:
		if !better && f.best.kind == kindNumber { // else the sum is beyond the doubles already
			f.best = calculate("+", &f.best.num, &v.num)
		}
	}
	if better {
		size := 0
		if f.best, size, err = v.detach(); err == nil {
			err = f.held.hold(size)
		}
	}
	return err
}

// keep adds a value to the list of ARRAY_AGG.
func (f *fold) keep(v *value) error {
	own, size, err := v.detach()
	if err != nil {
		return err
	}
	f.list = append(f.list, own)
	if f.size += size; f.size > maxKeptBytes {
		return limitf("ARRAY_AGG would have to keep more than %d MB in memory", maxKeptBytes>>20)
	}
	return f.held.keep(size)
}

func (f *fold) result() value {
	switch {
	case len(f.list) > 0: // in order, as in Couchbase
		slices.SortStableFunc(f.list, func(a, b value) int { return compare(&a, &b) })
		return array(f.list)
	case f.of.name == "COUNT":
		return integer(f.count)
	case f.of.name == "AVG" && f.best.kind == kindNumber:
		n := number{integer: f.count}
		return calculate("/", &f.best.num, &n)
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
	v := fromJSON(parsed)
	return s.beforeKey(string(appendKey(nil, &v, 0)))
}

func (s *seen) beforeKey(key string) (bool, error) {
	if s.keys[key] {
		return true, nil
	}
	s.keys[key] = true
	if s.size += len(key) + valueSize; s.size > maxKeptBytes {
		return false, limitf("DISTINCT would have to keep more than %d MB in memory", maxKeptBytes>>20)
	}
	return false, s.held.keep(len(key) + valueSize)
}
