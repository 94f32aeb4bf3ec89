package selector

import (
	"slices"

	"github.com/settee-db/settee/compat/ejson"
)

// IsTextSearch reports whether there is a $text in it, or what looks like one in an argument
// (mango_idx_view:is_text_search/1).
func (s *Selector) IsTextSearch() bool { return s.Root != nil && s.Root.isTextSearch() }

// IsConstant reports whether the selector fixes the value of a field
// (mango_selector:is_constant_field/2).
func (s *Selector) IsConstant(field string) bool { return s.Root != nil && s.Root.isConstant(field) }

// Paths are the fields that the selector looks at, each as often as it is named.
func (s *Selector) Paths() []Path {
	if s.Root == nil {
		return nil
	}
	return s.Root.paths(nil)
}

// isConstant reports whether every document that passes has one and the same value of the field.
func (c *Condition) isConstant(field string) bool {
	switch c.Op {
	case OpAnd:
		return slices.ContainsFunc(c.Kids, func(kid *Condition) bool { return kid.isConstant(field) })
	case OpField:
		return c.Name == field && c.Kids[0].Op == OpEq
	}
	return false
}

// NotRequired returns those of the fields that documents may lack and still pass
// (mango_selector:has_required_fields/2). As there, an $or without branches requires everything.
func (s *Selector) NotRequired(fields []string) []string {
	if s.Root == nil {
		return fields
	}
	return s.Root.notRequired(fields)
}

// notRequired goes through the conditions with the fields that are still open. Every branch of an
// $and may require some of them, so what is left shrinks; an $or requires only what all its
// branches do, so what is left is the union. A field with {"$exists": false} requires nothing.
func (c *Condition) notRequired(fields []string) []string {
	switch c.Op {
	case OpAnd:
		for _, kid := range c.Kids {
			fields = kid.notRequired(fields)
		}
	case OpOr:
		var rest []string
		for _, kid := range c.Kids {
			for _, name := range kid.notRequired(fields) {
				if !slices.Contains(rest, name) {
					rest = append(rest, name)
				}
			}
		}
		return rest
	case OpField:
		if inner := c.Kids[0]; inner.Op == OpExists && !inner.Exists {
			return fields
		}
		if i := slices.Index(fields, c.Name); i >= 0 {
			return slices.Delete(slices.Clone(fields), i, i+1)
		}
	}
	return fields
}

// isTextSearch looks for a $text in the tree of conditions, and for what looks like one in
// arguments, where CouchDB sees it, too.
func (c *Condition) isTextSearch() bool {
	if c.Op == OpDefault {
		return true
	}
	if len(c.Kids) > 0 || c.Arg.Kind() == ejson.Invalid {
		return slices.ContainsFunc(c.Kids, (*Condition).isTextSearch)
	}
	if c.Arg.Kind() == ejson.Array {
		for e := range c.Arg.Elements() {
			if hasDefault(e) {
				return true
			}
		}
		return false
	}
	return hasDefault(c.Arg)
}

// hasDefault follows objects of one member.
func hasDefault(v ejson.Value) bool {
	for v.Kind() == ejson.Object && v.Len() == 1 {
		for name, value := range v.Members() {
			if name.TextIs("$default") {
				return true
			}
			v = value
		}
	}
	return false
}

// Fields are the names of the fields the selector has conditions on; those inside $elemMatch are
// not among them (mango_selector:fields/1).
func (s *Selector) Fields() []string {
	if s.Root == nil {
		return nil
	}
	return s.Root.fields(nil)
}

// fields appends the fields and operators that the conditions name, in the order of the selector.
func (c *Condition) fields(names []string) []string {
	switch {
	case c.isList():
		for _, kid := range c.Kids {
			names = kid.fields(names)
		}
		return names
	case c.Op == OpField:
		return append(names, c.Name)
	}
	return append(names, c.Op.String())
}

// paths appends the paths that the conditions look at in a document.
func (c *Condition) paths(list []Path) []Path {
	if c.Op == OpField {
		return append(list, c.Path)
	}
	switch c.Op {
	case OpAnd, OpOr, OpNot, OpNor:
		for _, kid := range c.Kids {
			list = kid.paths(list)
		}
		return list
	case OpDefault:
		return list
	}
	return append(list, Path{Valid: true}) // an operator on the document itself
}
