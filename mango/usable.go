package mango

import (
	"github.com/settee-db/settee/mango/selector"
	"slices"
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
func (ix *Index) unusable(s *selector.Selector, sort []string) string {
	if ix.Kind == KindAllDocs {
		switch {
		case len(sort) == 0:
		case !slices.Contains(s.Indexable(), "_id"):
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
	case s.IsTextSearch():
		return reasonTextSearch
	case len(s.NotRequired(required)) > 0:
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
func canSort(columns, sort []string, s *selector.Selector) bool {
	if len(sort) == 0 {
		return true
	}
	for i, column := range columns {
		if column == sort[0] {
			return hasPrefixOf(columns[i:], sort)
		}
		if !s.IsConstant(column) {
			return false
		}
	}
	return false
}
