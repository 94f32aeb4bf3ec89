package n1ql

import (
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/eventing/n1ql/datum"
	"github.com/settee-db/settee/eventing/n1ql/functions"
)

// fold is an aggregate of a statement at work.
type fold struct {
	*functions.Aggregate
	of   *aggregate
	seen *seen // of DISTINCT
	size int   // of what it keeps, in bytes
	held *memory
}

func newFold(of *aggregate, held *memory) *fold {
	f := &fold{Aggregate: functions.NewAggregate(of.name), of: of, held: held}
	if of.distinct {
		f.seen = newSeen(held)
	}
	return f
}

// addOf takes the argument's value for a row, if FILTER holds for it.
func (f *fold) addOf(e *env) error {
	if ok, err := e.passes(f.of.filter); err != nil || !ok {
		return err
	}
	if f.of.of == nil { // COUNT(*)
		f.Count()
		return nil
	}
	v, err := f.of.of.eval(e)
	if err != nil {
		return err
	}
	return f.add(&v)
}

// free gives back the memory of what it keeps.
func (f *fold) free() {
	f.held.kept -= f.size
	if f.seen != nil {
		f.held.kept -= f.seen.size
	}
}

// add takes a value, if it counts.
func (f *fold) add(v *datum.Value) error {
	if !f.Takes(v) {
		return nil
	}
	if f.seen != nil {
		if again, err := f.seen.beforeKey(v.Key()); again || err != nil {
			return err
		}
	}
	size, kept, err := f.Add(v)
	switch {
	case err != nil:
		return err
	case !kept:
		return f.held.hold(size)
	}
	if f.size += size; f.size > maxKeptBytes {
		return limitf("%s would have to keep more than %d MB in memory", f.of.name, maxKeptBytes>>20)
	}
	return f.held.keep(size)
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
