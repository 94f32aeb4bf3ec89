package fulltext

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/params"
)

// suggestOptions are the options of _search_suggest and _nouveau_suggest, which CouchDB does not
// have.
type suggestOptions struct {
	Field string
	Text  string
	// Near asks for terms that differ by at most Edits edits, and not for those that begin with
	// Text.
	Near      bool
	Edits     int
	Limit     int
	Partition *string
	AsItIs    bool // does not bring the index up to date before
}

const (
	defaultSuggestions = 10
	mostSuggestedEdits = 2
)

var (
	errNothingToSuggest = compat.NewError(compat.KindQueryParse,
		"Query must include one of the arguments 'prefix' and 'word'")
	errSuggestedEdits = compat.NewError(compat.KindQueryParse, "edits must be 0, 1 or 2")
)

// parseSuggest reads the options of a GET; most is the largest limit. Unknown ones are ignored.
func parseSuggest(q compat.Query, most int64) (*suggestOptions, error) {
	o := &suggestOptions{Field: "default", Edits: mostSuggestedEdits, Limit: int(min(defaultSuggestions, most))}
	given := 0
	for i := range q {
		text := q[i].Value
		switch q[i].Name {
		case "prefix", "word":
			given++
			o.Text, o.Near = text, q[i].Name == "word"
		case "field":
			o.Field = text
		case "edits":
			n, ok := compat.ErlangInteger(text)
			if !ok || n < 0 || n > mostSuggestedEdits {
				return nil, errSuggestedEdits
			}
			o.Edits = int(n)
		case "limit":
			n, err := count(params.Value{Text: text}, "limit", 0, most)
			if err != nil {
				return nil, err
			}
			o.Limit = int(n)
		case "partition":
			o.Partition = &text
		case "stale":
			if text != "ok" {
				return nil, errStale
			}
			o.AsItIs = true
		case "update":
			if text != "true" && text != "false" {
				return nil, invalidValue("update", params.Value{Text: text})
			}
			o.AsItIs = text == "false"
		}
	}
	// Both would be two questions with one answer.
	if given != 1 {
		return nil, errNothingToSuggest
	}
	return o, nil
}

// checkPartition holds a partition that was named, or was not, to the rules of _search: the
// database and the index are partitioned or not.
func checkPartition(given, database, index bool) error {
	switch {
	case given && (!database || !index):
		return errPartition
	case index && !given:
		return errNoPartition
	}
	return nil
}
