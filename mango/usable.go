package mango

import (
	"slices"

	"github.com/settee-db/settee/compat/ejson"
)

// The reasons _explain gives for an index that is not used.
const (
	reasonPartial        = "is_partial"
	reasonScope          = "scope_mismatch"
	reasonTextSearch     = "needs_text_search"
	reasonEmpty          = "empty_selector"
	reasonFields         = "field_mismatch"
	reasonSort           = "sort_order_mismatch"
	reasonExcluded       = "excluded_by_user"
	reasonKind           = "unfavored_type"
	reasonLessOverlap    = "less_overlap"
	reasonTooManyFields  = "too_many_fields"
	reasonAlphabetically = "alphabetically_comes_after"
)

// unusable tells why an index cannot answer a query, "" if it can (mango_idx_view:is_usable/3,
// mango_idx_special:is_usable/3).
func (ix *Index) unusable(s *Selector, sort []string) string {
	if ix.Kind == KindAllDocs {
		switch {
		case len(sort) == 0:
		case !slices.Contains(s.indexable(), "_id"):
			return reasonFields
		case !hasPrefixOf(ix.Columns, sort):
			return reasonSort
		}
		return ""
	}
	if ix.Kind == KindAllFields {
		return ix.unusableAllFields(s, sort)
	}
	if ix.Kind.IsText() {
		return ix.unusableText(s)
	}
	if ix.unreadable {
		return reasonFields
	}
	var required []string
	for _, column := range ix.Columns {
		if column != "_id" && column != "_rev" && !slices.Contains(sort, column) && !slices.Contains(required, column) {
			required = append(required, column)
		}
	}
	switch {
	case s.root != nil && s.root.isTextSearch():
		return reasonTextSearch
	case len(s.notRequired(required)) > 0:
		return reasonFields
	case !canSort(ix.Columns, sort, s):
		return reasonSort
	}
	return ""
}

func hasPrefixOf(columns, sort []string) bool {
	return len(sort) <= len(columns) && slices.Equal(columns[:len(sort)], sort)
}

// canSort reports whether the sort fields are a prefix of the columns, without leading ones that
// are fixed by the selector (mango_idx_view:can_use_sort/3).
func canSort(columns, sort []string, s *Selector) bool {
	if len(sort) == 0 {
		return true
	}
	for i, column := range columns {
		if column == sort[0] {
			return hasPrefixOf(columns[i:], sort)
		}
		if s.root == nil || !s.root.isConstant(column) {
			return false
		}
	}
	return false
}

// isConstant reports whether the condition fixes the field's value
// (mango_selector:is_constant_field/2).
func (c *condition) isConstant(field string) bool {
	switch c.op {
	case opAnd:
		return slices.ContainsFunc(c.kids, func(kid *condition) bool { return kid.isConstant(field) })
	case opField:
		return c.name == field && c.kids[0].op == opEq
	}
	return false
}

// notRequired returns those of the fields that documents may lack and still pass
// (mango_selector:has_required_fields/2). As there, an $or without branches requires everything.
func (s *Selector) notRequired(fields []string) []string {
	if s.root == nil {
		return fields
	}
	return s.root.notRequired(fields)
}

// notRequired goes through the conditions with the fields that are still open. Every branch of an
// $and may require some of them, so what is left shrinks; an $or requires only what all its
// branches do, so what is left is the union. A field with {"$exists": false} requires nothing.
func (c *condition) notRequired(fields []string) []string {
	switch c.op {
	case opAnd:
		for _, kid := range c.kids {
			fields = kid.notRequired(fields)
		}
	case opOr:
		var rest []string
		for _, kid := range c.kids {
			for _, name := range kid.notRequired(fields) {
				if !slices.Contains(rest, name) {
					rest = append(rest, name)
				}
			}
		}
		return rest
	case opField:
		if inner := c.kids[0]; inner.op == opExists && !inner.exists {
			return fields
		}
		if i := slices.Index(fields, c.name); i >= 0 {
			return slices.Delete(slices.Clone(fields), i, i+1)
		}
	}
	return fields
}

// isTextSearch reports whether there is a $text in it, or what looks like one in an argument
// (mango_idx_view:is_text_search/1).
func (c *condition) isTextSearch() bool {
	if c.op == opDefault {
		return true
	}
	if len(c.kids) > 0 || c.arg.Kind() == ejson.Invalid {
		return slices.ContainsFunc(c.kids, (*condition).isTextSearch)
	}
	if c.arg.Kind() == ejson.Array {
		for e := range c.arg.Elements() {
			if hasDefault(e) {
				return true
			}
		}
		return false
	}
	return hasDefault(c.arg)
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

// fields are the names of the fields the selector has conditions on; those inside $elemMatch are
// not among them (mango_selector:fields/1).
func (s *Selector) fields() []string {
	if s.root == nil {
		return nil
	}
	return s.root.fields(nil)
}

func (c *condition) fields(names []string) []string {
	switch {
	case c.isList():
		for _, kid := range c.kids {
			names = kid.fields(names)
		}
		return names
	case c.op == opField:
		return append(names, c.name)
	}
	return append(names, opNames[c.op])
}
