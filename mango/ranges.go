package mango

import (
	"slices"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
)

// fieldRange is what a selector says of the values of one field, as far as an index can use it. A
// bound that is no value is open (mango_idx_view:range/6).
type fieldRange struct {
	field         string
	low, high     ejson.Value
	lowOp, highOp op // opGt, opGte or opEq; opLt, opLte or opEq
	empty         bool
}

// ranges returns the ranges of all fields that an index could serve, ordered by name. If the range
// of one is empty it is the only one (mango_idx_view:field_ranges/1).
func (s *Selector) ranges() []fieldRange {
	fields := s.indexable()
	list := make([]fieldRange, len(fields))
	byName := make(map[string]*fieldRange, len(fields))
	for i, name := range fields {
		list[i] = fieldRange{field: name, lowOp: opGt, highOp: opLt}
		byName[name] = &list[i]
	}
	if len(list) > 0 {
		s.root.narrow(byName)
	}
	if i := slices.IndexFunc(list, func(r fieldRange) bool { return r.empty }); i >= 0 {
		return list[i : i+1]
	}
	return list
}

// indexable are the names of fields with a condition that an index can serve, sorted. Only $and is
// seen through (mango_idx_view:indexable_fields/1).
func (s *Selector) indexable() []string {
	if s.root == nil {
		return nil
	}
	names := s.root.indexable(nil)
	slices.Sort(names)
	return slices.Compact(names)
}

func (c *condition) indexable(names []string) []string {
	switch c.op {
	case opAnd:
		for _, kid := range c.kids {
			names = kid.indexable(names)
		}
	case opField:
		switch c.kids[0].op {
		case opLt, opLte, opEq, opGt, opGte, opBeginsWith, opExists:
			return append(names, c.name)
		}
	}
	return names
}

// narrow lets all conditions that $and holds narrow the ranges of their fields.
func (c *condition) narrow(byName map[string]*fieldRange) {
	switch c.op {
	case opAnd:
		for _, kid := range c.kids {
			kid.narrow(byName)
		}
	case opField:
		if r := byName[c.name]; r != nil && !r.empty {
			r.narrow(c.kids[0])
		}
	}
}

// narrow takes one condition into account.
func (r *fieldRange) narrow(c *condition) {
	switch c.op {
	case opLt, opLte, opEq, opGt, opGte:
		r.bound(c.op, c.arg)
	case opBeginsWith:
		// U+FFFF sorts after all other characters.
		last, err := ejson.Parse(ejson.AppendString(nil, c.text+"\uffff"))
		if err != nil {
			return
		}
		if r.bound(opGte, c.arg); !r.empty {
			r.bound(opLte, last)
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
func (r *fieldRange) position(v ejson.Value) position {
	if r.low.Kind() != ejson.Invalid {
		switch c := collate.Compare(v, r.low); {
		case c < 0:
			return belowLow
		case c == 0:
			return atLow
		}
	}
	if r.high.Kind() != ejson.Invalid {
		switch c := collate.Compare(v, r.high); {
		case c == 0:
			return atHigh
		case c > 0:
			return aboveHigh
		}
	}
	return between
}

// bound narrows the range by a comparison. Each case asks where the value lies, because a bound
// that is equal to the one that is there may turn the range into a point, or empty it, depending on
// whether both include their value.
func (r *fieldRange) bound(o op, v ejson.Value) {
	at := r.position(v)
	switch o {
	case opLt:
		if r.empty = at <= atLow; at == between || at == atHigh {
			r.high, r.highOp = v, opLt
		}
	case opLte:
		switch {
		case at == atLow && r.includesLow():
			r.point(v)
		case at <= atLow:
			r.empty = true
		case at == between:
			r.high, r.highOp = v, opLte
		}
	case opEq:
		if at == between || at == atLow && r.includesLow() || at == atHigh && r.includesHigh() {
			r.point(v)
		} else {
			r.empty = true
		}
	case opGte:
		switch {
		case at == atHigh && r.includesHigh():
			r.point(v)
		case at >= atHigh:
			r.empty = true
		case at == between:
			r.low, r.lowOp = v, opGte
		}
	case opGt:
		if r.empty = at >= atHigh; at == between || at == atLow {
			r.low, r.lowOp = v, opGt
		}
	}
}

func (r *fieldRange) point(v ejson.Value) {
	r.low, r.high, r.lowOp, r.highOp = v, v, opEq, opEq
}

func (r *fieldRange) includesLow() bool  { return r.lowOp != opGt }
func (r *fieldRange) includesHigh() bool { return r.highOp != opLt }

// impossible tells that no value is in the range. CouchDB does not notice "equal to x and above x"
// and fails.
func (r *fieldRange) impossible() bool {
	return r.empty ||
		(r.lowOp == opEq) != (r.highOp == opEq) && r.low.Kind() != ejson.Invalid && r.high.Kind() != ejson.Invalid
}
