package fulltext

import (
	"maps"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/search/index"
	"github.com/settee-db/settee/search/query"
)

// textRange is a field whose ranges are counted, with their labels.
type textRange struct {
	field  string
	labels []string
}

func badRequest(reason string) error { return compat.NewError(compat.KindBadRequest, reason) }

// readFacets reads counts, ranges and drilldown, as the search server does (IndexService).
func (a *searchAnswer) readFacets() (err error) {
	if counts := a.o.Counts; counts.Kind() != ejson.Invalid {
		fields, ok := textsOf(counts)
		if !ok {
			return badRequest(string(counts.AppendJSON(nil)) + " is not a valid counts query")
		}
		// An index without any facet has no counts to tell, whatever is asked for.
		if a.counted = a.s.HasStrings(); a.counted {
			a.request.Counts = fields
		}
	}
	if err := a.readRanges(); err != nil {
		return err
	}
	a.request.Drilldown, err = drilldown(a.o)
	return err
}

// drilldown are the fields with the values of which hits have one.
func drilldown(o *searchOptions) (all [][]string, err error) {
	seen := map[string]bool{}
	for _, v := range o.Drilldown {
		list, ok := textsOf(v)
		if !ok || len(list) == 0 || seen[list[0]] {
			return nil, badRequest("invalid drilldown query")
		}
		seen[list[0]] = true
		all = append(all, list)
	}
	return all, nil
}

// textsOf are the texts of an array; false if it is something else.
func textsOf(v ejson.Value) (texts []string, ok bool) {
	if v.Kind() != ejson.Array {
		return nil, false
	}
	for e := range v.Elements() {
		if e.Kind() != ejson.String {
			return nil, false
		}
		texts = append(texts, e.Text())
	}
	return texts, true
}

// readRanges takes the facets of Clouseau: an object of fields, each with an object of labels and
// ranges such as "[0 TO 100]". A range is parsed as a query on its field and must turn out to be
// nothing but one range of numbers.
func (a *searchAnswer) readRanges() error {
	if a.o.Ranges.Kind() == ejson.Invalid {
		return nil
	}
	if a.o.Ranges.Kind() != ejson.Object {
		return badRequest("invalid ranges query")
	}
	for field, labels := range a.o.Ranges.Members() {
		if labels.Kind() != ejson.Object {
			return badRequest("invalid ranges query")
		}
		r := textRange{field: field.Text()}
		facet := index.RangeFacet{Field: r.field}
		for label, text := range labels.Members() {
			if text.Kind() != ejson.String {
				return badRequest("invalid ranges query")
			}
			// A text such as [0 TO 5] names no field; one that it names all the same has to be this
			// one.
			n, err := a.s.Parse(text.Text(), "", query.Options{DefaultField: r.field})
			if err != nil {
				return err
			}
			numbers, ok := n.(*query.NumRange)
			if !ok || numbers.Field != r.field {
				return badRequest(text.Text() + " was not a well-formed range specification")
			}
			r.labels = append(r.labels, label.Text())
			facet.Ranges = append(facet.Ranges, index.LabelledRange{
				Label: label.Text(), Min: numbers.Min, Max: numbers.Max,
				MinInclude: numbers.MinInclude, MaxInclude: numbers.MaxInclude,
			})
		}
		a.ranges = append(a.ranges, r)
		a.request.Ranges = append(a.request.Ranges, facet)
	}
	return nil
}

// appendFacets appends counts and ranges, if they were asked for: numbers are floats, fields and
// labels in the order of their bytes.
func (a *searchAnswer) appendFacets(b []byte, result *index.Result) []byte {
	if a.counted {
		b = append(b, `,"counts":`...)
		all := map[string]map[string]int64{}
		for _, field := range a.request.Counts {
			all[field] = result.Counts[field]
		}
		b = appendCounts(b, all)
	}
	if a.o.Ranges.Kind() == ejson.Invalid {
		return b
	}
	// Labels without a hit are told with 0: the result has only those that were counted.
	all := map[string]map[string]int64{}
	for _, r := range a.ranges {
		all[r.field] = map[string]int64{}
		for _, label := range r.labels {
			all[r.field][label] = result.Ranges[r.field][label]
		}
	}
	return appendCounts(append(b, `,"ranges":`...), all)
}

// appendCounts appends numbers by field and label (facets_to_json, which prints 0 as it prints a
// field without labels).
func appendCounts(b []byte, all map[string]map[string]int64) []byte {
	separator := "{"
	for _, field := range slices.Sorted(maps.Keys(all)) {
		b = append(ejson.AppendString(append(b, separator...), field), ":{"...)
		separator = ","
		inner := ""
		for _, label := range slices.Sorted(maps.Keys(all[field])) {
			b = append(ejson.AppendString(append(b, inner...), label), ':')
			if n := all[field][label]; n > 0 {
				b = ejson.AppendFloat(b, float64(n))
			} else {
				b = append(b, "{}"...)
			}
			inner = ","
		}
		b = append(b, '}')
	}
	if len(all) == 0 {
		b = append(b, '{')
	}
	return append(b, '}')
}
