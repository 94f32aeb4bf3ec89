package selector

import (
	"slices"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
)

// FieldRange is the range of values of one field that a selector allows, as far as an index can use
// it. A bound that is no value is open (mango_idx_view:range/6).
type FieldRange struct {
	Field         string
	Low, High     ejson.Value
	LowOp, highOp Op // OpGt, OpGte or OpEq; OpLt, OpLte or OpEq
	Empty         bool
}

// OpenRange is a range of a field that has all values.
func OpenRange(field string) FieldRange {
	return FieldRange{Field: field, LowOp: OpGt, highOp: OpLt}
}

// Ranges returns the ranges of all fields that an index could serve, ordered by name. If the range
// of one is empty it is the only one (mango_idx_view:field_ranges/1).
func (s *Selector) Ranges() []FieldRange {
	fields := s.Indexable()
	list := make([]FieldRange, len(fields))
	byName := make(map[string]*FieldRange, len(fields))
	for i, name := range fields {
		list[i] = OpenRange(name)
		byName[name] = &list[i]
	}
	if len(list) > 0 {
		s.Root.narrow(byName)
	}
	if i := slices.IndexFunc(list, func(r FieldRange) bool { return r.Empty }); i >= 0 {
		return list[i : i+1]
	}
	return list
}

// Indexable are the names of fields with a condition that an index can serve, sorted. Only $and is
// seen through (mango_idx_view:indexable_fields/1).
func (s *Selector) Indexable() []string {
	if s.Root == nil {
		return nil
	}
	names := s.Root.indexable(nil)
	slices.Sort(names)
	return slices.Compact(names)
}

// indexable appends the fields whose condition an index could use: those with a comparison,
// $beginsWith or $exists that every document must fulfil.
func (c *Condition) indexable(names []string) []string {
	switch c.Op {
	case OpAnd:
		for _, kid := range c.Kids {
			names = kid.indexable(names)
		}
	case OpField:
		switch c.Kids[0].Op {
		case OpLt, OpLte, OpEq, OpGt, OpGte, OpBeginsWith, OpExists:
			return append(names, c.Name)
		}
	}
	return names
}

// narrow lets all conditions that $and holds narrow the ranges of their fields.
func (c *Condition) narrow(byName map[string]*FieldRange) {
	switch c.Op {
	case OpAnd:
		for _, kid := range c.Kids {
			kid.narrow(byName)
		}
	case OpField:
		if r := byName[c.Name]; r != nil && !r.Empty {
			r.Narrow(c.Kids[0])
		}
	}
}

// Narrow takes one condition into account.
func (r *FieldRange) Narrow(c *Condition) {
	switch c.Op {
	case OpLt, OpLte, OpEq, OpGt, OpGte:
		r.Bound(c.Op, c.Arg)
	case OpBeginsWith:
		// U+FFFF sorts after all other characters.
		last, err := ejson.Parse(ejson.AppendString(nil, c.Text+"\uffff"))
		if err != nil {
			return
		}
		if r.Bound(OpGte, c.Arg); !r.Empty {
			r.Bound(OpLte, last)
		}
	}
}

// position says where a value lies in a range.
type position uint8

const (
	belowLow position = iota
	atLow
	between
	atHigh
	aboveHigh
)

// position returns where a value lies in the range by its order alone; whether a bound is included
// is for the caller.
func (r *FieldRange) position(v ejson.Value) position {
	if r.Low.Kind() != ejson.Invalid {
		switch c := collate.Compare(v, r.Low); {
		case c < 0:
			return belowLow
		case c == 0:
			return atLow
		}
	}
	if r.High.Kind() != ejson.Invalid {
		switch c := collate.Compare(v, r.High); {
		case c == 0:
			return atHigh
		case c > 0:
			return aboveHigh
		}
	}
	return between
}

// Bound narrows the range by a comparison. Each case asks where the value lies, because a bound
// that is equal to the one that is there may turn the range into a point, or empty it, depending on
// whether both include their value.
func (r *FieldRange) Bound(o Op, v ejson.Value) {
	at := r.position(v)
	switch o {
	case OpLt:
		if r.Empty = at <= atLow; at == between || at == atHigh {
			r.High, r.highOp = v, OpLt
		}
	case OpLte:
		switch {
		case at == atLow && r.IncludesLow():
			r.point(v)
		case at <= atLow:
			r.Empty = true
		case at == between:
			r.High, r.highOp = v, OpLte
		}
	case OpEq:
		if at == between || at == atLow && r.IncludesLow() || at == atHigh && r.IncludesHigh() {
			r.point(v)
		} else {
			r.Empty = true
		}
	case OpGte:
		switch {
		case at == atHigh && r.IncludesHigh():
			r.point(v)
		case at >= atHigh:
			r.Empty = true
		case at == between:
			r.Low, r.LowOp = v, OpGte
		}
	case OpGt:
		if r.Empty = at >= atHigh; at == between || at == atLow {
			r.Low, r.LowOp = v, OpGt
		}
	}
}

func (r *FieldRange) point(v ejson.Value) {
	r.Low, r.High, r.LowOp, r.highOp = v, v, OpEq, OpEq
}

// IncludesLow reports whether the lower bound itself is in the range.
func (r *FieldRange) IncludesLow() bool { return r.LowOp != OpGt }

// IncludesHigh reports whether the upper bound itself is in the range.
func (r *FieldRange) IncludesHigh() bool { return r.highOp != OpLt }

// Impossible tells that no value is in the range. CouchDB does not notice "equal to x and above x"
// and fails.
func (r *FieldRange) Impossible() bool {
	return r.Empty ||
		(r.LowOp == OpEq) != (r.highOp == OpEq) && r.Low.Kind() != ejson.Invalid && r.High.Kind() != ejson.Invalid
}
