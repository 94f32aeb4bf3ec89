package selector

import (
	"slices"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
)

// manyValues is from how many values of a list on they are sorted, and not compared one by one.
const manyValues = 16

// valueSet is the values of a list, in both orders that selectors compare in.
type valueSet struct{ collated, raw []ejson.Value }

// newValueSet makes the set of a list that is long enough to need one.
func newValueSet(list ejson.Value) *valueSet {
	if list.Len() < manyValues {
		return nil
	}
	s := &valueSet{}
	for v := range list.Elements() {
		s.collated = append(s.collated, v)
	}
	s.raw = slices.Clone(s.collated)
	slices.SortFunc(s.collated, collate.Compare)
	slices.SortFunc(s.raw, collate.CompareRaw)
	return s
}

func (s *valueSet) has(v ejson.Value, raw bool) (found bool) {
	if raw {
		_, found = slices.BinarySearchFunc(s.raw, v, collate.CompareRaw)
	} else {
		_, found = slices.BinarySearchFunc(s.collated, v, collate.Compare)
	}
	return found
}

// isIn reports whether v equals one of the values of the argument; of an array, whether one of its
// elements does.
func (c *Condition) isIn(v ejson.Value, raw bool) bool {
	if v.Kind() != ejson.Array {
		return c.lists(v, raw)
	}
	for element := range v.Elements() {
		if c.lists(element, raw) {
			return true
		}
	}
	return false
}

// lists reports whether a value is one of the argument's.
func (c *Condition) lists(v ejson.Value, raw bool) bool {
	if c.set != nil {
		return c.set.has(v, raw)
	}
	for arg := range c.Arg.Elements() {
		if compare(v, arg, raw) == 0 {
			return true
		}
	}
	return false
}

// hasAll reports whether an array has all values of a list as elements, by identity. An array that
// is the only value of the list may also be the array itself.
func hasAll(v, list ejson.Value) bool {
	if v.Kind() != ejson.Array || list.Len() == 0 {
		return false
	}
	if hasElements(v, list) {
		return true
	}
	children := list.Children()
	only, _ := children.Next()
	return list.Len() == 1 && only.Kind() == ejson.Array && collate.CompareRaw(only, v) == 0
}

// hasElements reports whether an array has all elements of a list, each compared as an Erlang term:
// 1 is not 1.0 ($all).
func hasElements(v, list ejson.Value) bool {
	for arg := range list.Elements() {
		has := false
		for element := range v.Elements() {
			if has = collate.Identical(arg, element); has {
				break
			}
		}
		if !has {
			return false
		}
	}
	return true
}

// matchAnElement ends at the first element that cannot be tested: then none matches.
func (c *Condition) matchAnElement(v ejson.Value, raw bool) bool {
	for element := range v.Elements() {
		if ok, err := c.Kids[0].match(element, raw); ok || err != nil {
			return ok && err == nil
		}
	}
	return false
}

func (c *Condition) matchAllElements(v ejson.Value, raw bool) bool {
	for element := range v.Elements() {
		if ok, err := c.Kids[0].match(element, raw); !ok || err != nil {
			return false
		}
	}
	return v.Kind() == ejson.Array && v.Len() > 0
}

// matchAKey looks at the names of an object's members.
func (c *Condition) matchAKey(v ejson.Value, raw bool) bool {
	for name := range v.Members() {
		if ok, err := c.Kids[0].match(name, raw); ok || err != nil {
			return ok && err == nil
		}
	}
	return false
}
