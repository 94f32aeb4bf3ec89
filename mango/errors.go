package mango

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// The errors of this package are compat.Errors of status 400 with Mango's own error words and
// reasons (mango_error:info/2).

// errTextSort is for a sort by a field whose type is not known.
func errTextSort(field string) error {
	return compat.Named(compat.KindBadRequest, "text_sort_error",
		"Unspecified or ambiguous sort type. Try appending :number or :string to the sort field. "+field)
}

func errSeveralTextIndexes(kind Kind) error {
	return compat.Named(compat.KindBadRequest, "multiple_"+kind.String()+"_indexes",
		"You must specify an index with the `use_index` parameter.")
}

// errNoTextIndexes is for a server without full-text search.
func errNoTextIndexes(kind Kind) error {
	return compat.Named(compat.KindServiceUnavailable, "required index service unavailable", kind.String())
}

// errTextSearch is for a query that the index cannot answer.
func errTextSearch(kind Kind, reason string) error {
	if kind == KindNouveau {
		return compat.Named(compat.KindUnknown, "nouveau_search_error", "bad_request: "+reason)
	}
	return compat.Named(compat.KindBadRequest, "text_search_error", reason)
}

// term prints a JSON value as CouchDB puts it into most reasons.
func term(v ejson.Value) string { return compat.RawTerm(v) }
