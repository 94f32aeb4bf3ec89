package mango

import (
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
)

// isIn reports whether v equals one of the values of a list; of an array, whether one of its elements does.
func isIn(v, list ejson.Value, raw bool) bool {
	for arg := range list.Elements() {
		if v.Kind() != ejson.Array {
			if compare(v, arg, raw) == 0 {
				return true
			}
			continue
		}
		for element := range v.Elements() {
			if compare(element, arg, raw) == 0 {
				return true
			}
		}
	}
	return false
}

// hasAll reports whether an array has all values of a list as elements, by identity. An array that is the only value of
// the list may also be the array itself.
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
func (c *condition) matchAnElement(v ejson.Value, raw bool) bool {
	for element := range v.Elements() {
		if ok, err := c.kids[0].match(element, raw); ok || err != nil {
			return ok && err == nil
		}
	}
	return false
}

func (c *condition) matchAllElements(v ejson.Value, raw bool) bool {
	for element := range v.Elements() {
		if ok, err := c.kids[0].match(element, raw); !ok || err != nil {
			return false
		}
	}
	return v.Kind() == ejson.Array && v.Len() > 0
}

// matchAKey looks at the names of an object's members.
func (c *condition) matchAKey(v ejson.Value, raw bool) bool {
	for name := range v.Members() {
		if ok, err := c.kids[0].match(name, raw); ok || err != nil {
			return ok && err == nil
		}
	}
	return false
}
