package fulltext

import (
	"math"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/search/index"
	"github.com/settee-db/settee/server/params"
)

// nouveauOptions are the options of _nouveau (nouveau_httpd).
type nouveauOptions struct {
	Query, Locale string
	Partition     *string
	Bookmark      *string
	Limit, Top    int64 // Top is how many values of each field are counted
	Sort          []string
	Counts        []string
	Ranges        []index.RangeFacet
	Counted       bool // counts was given
	Ranged        bool // ranges was given
	Update        bool // bring the index up to date before
	IncludeDocs   bool

	// LeadingWildcard is this project's own option: words such as *ing are taken.
	LeadingWildcard bool
	// Beyond are options that Nouveau does not have and _search does: of its groups, highlights,
	// drilldown and include_fields.
	Beyond searchOptions
}

// nouveauNames are the options that are read, in the order in which they are looked at.
var nouveauNames = [...]string{"bookmark", "counts", "include_docs", "limit", "locale", "partition", "q", "ranges",
	"sort", "top_n", "update", "allow_leading_wildcard"}

// beyondNouveau are the options of _search that _nouveau has, too.
var beyondNouveau = [...]string{"drilldown", "group_field", "group_limit", "group_sort", "highlight_fields",
	"highlight_number", "highlight_post_tag", "highlight_pre_tag", "highlight_size", "include_fields"}

const (
	defaultNouveauLimit = 25
	defaultTop          = 10
)

// parseNouveau reads the options of a GET (body is the zero Value) or POST; the partition is in the
// query string. Groups have the limits of _search.
func parseNouveau(q compat.Query, body ejson.Value, limits searchLimits) (*nouveauOptions, error) {
	o := &nouveauOptions{Limit: defaultNouveauLimit, Top: defaultTop, Update: true}
	for _, name := range nouveauNames {
		v := params.Value{}
		var given bool
		if body.Kind() == ejson.Invalid || name == "partition" {
			if v.Text, given = q.First(name); given && (name == "counts" || name == "ranges" || name == "sort") {
				var err error
				if v.JSON, err = params.ParseJSON(v.Text); err != nil {
					return nil, err
				}
			}
		} else if v.JSON, given = body.Get(name); given {
			v.Text = v.JSON.Text()
			given = v.JSON.Kind() != ejson.Null
		}
		if !given {
			if name == "q" {
				return nil, compat.NewError(compat.KindQueryParse, "q parameter is mandatory")
			}
			continue
		}
		if err := o.set(name, v); err != nil {
			return nil, err
		}
	}
	return o, o.setBeyond(q, body, limits)
}

// setBeyond reads the options that are those of _search.
func (o *nouveauOptions) setBeyond(q compat.Query, body ejson.Value, limits searchLimits) error {
	o.Beyond = newSearchOptions(limits)
	for _, name := range beyondNouveau {
		if body.Kind() != ejson.Invalid {
			if v, given := body.Get(name); given && v.Kind() != ejson.Null {
				if err := o.Beyond.setJSON(name, v, limits); err != nil {
					return err
				}
			}
			continue
		}
		for i := range q {
			if q[i].Name != name {
				continue
			}
			if err := o.Beyond.setText(name, q[i].Value, limits); err != nil {
				return err
			}
		}
	}
	return nil
}

// set takes one option of a Nouveau query, from the URL or from a body: v holds either. CouchDB
// tells the name and the value in its error (nouveau_httpd:validate_query_arg); unknown names are
// ignored.
func (o *nouveauOptions) set(name string, v params.Value) (err error) {
	switch name {
	case "bookmark", "locale", "partition", "q":
		if !v.IsText() {
			return invalidValue(name, v)
		}
		o.setText(name, v.Text)
	case "include_docs", "update", "allow_leading_wildcard":
		word := v.Word()
		if word != "true" && word != "false" {
			return invalidValue(name, v)
		}
		switch name {
		case "include_docs":
			o.IncludeDocs = word == "true"
		case "update":
			o.Update = word == "true"
		default:
			o.LeadingWildcard = word == "true"
		}
	case "limit":
		o.Limit, err = positive(v, name)
	case "top_n":
		o.Top, err = positive(v, name)
	case "counts":
		o.Counted = true
		if v.JSON.Kind() != ejson.Array {
			return compat.NewError(compat.KindQueryParse, "counts parameter must be a list of strings")
		}
		o.Counts, err = texts(name, v.JSON)
	case "sort":
		if v.JSON.Kind() == ejson.String {
			o.Sort = []string{v.JSON.Text()}
		} else if v.JSON.Kind() != ejson.Array {
			return invalidValue(name, v)
		} else {
			o.Sort, err = texts(name, v.JSON)
		}
	case "ranges":
		o.Ranged = true
		err = o.setRanges(v.JSON)
	}
	return err
}

// setText sets an option that is a text. The bookmark and the partition are pointers, because an
// empty one is another request than none.
func (o *nouveauOptions) setText(name, text string) {
	switch name {
	case "bookmark":
		o.Bookmark = &text
	case "locale":
		o.Locale = text
	case "partition":
		o.Partition = &text
	case "q":
		o.Query = text
	}
}

// invalidValue is the answer to a value of a wrong type. Nouveau prints the text of a query as a
// binary.
func invalidValue(name string, v params.Value) error {
	shown := compat.ErlangBinary(v.Text)
	if v.JSON.Kind() != ejson.Invalid {
		shown = compat.ErlangTerm(v.JSON)
	}
	return compat.NewError(compat.KindQueryParse, "Invalid value for "+name+": "+shown)
}

// positive is a whole number from 1 on.
func positive(v params.Value, name string) (int64, error) {
	text := v.Text
	if v.JSON.Kind() != ejson.Invalid {
		text = string(v.JSON.Raw())
	}
	n, ok := compat.ErlangInteger(text)
	switch {
	case !ok || v.JSON.Kind() != ejson.Invalid && v.JSON.Kind() != ejson.Int:
		return 0, compat.NewError(compat.KindQueryParse, name+" parameter must be an integer")
	case n <= 0:
		return 0, compat.NewError(compat.KindQueryParse, name+" parameter must be greater than zero")
	}
	return n, nil
}

// texts reads a list of strings; anything else in it is an error of the option.
func texts(name string, list ejson.Value) (all []string, err error) {
	for v := range list.Elements() {
		if v.Kind() != ejson.String {
			return nil, compat.NewError(compat.KindQueryParse, "all items in "+name+" parameter must be strings")
		}
		all = append(all, v.Text())
	}
	return all, nil
}

// setRanges reads {"field":[{"label","min","max","min_inclusive","max_inclusive"}]}; min or max may
// be left out, and the ends belong to a range unless it says that they do not.
func (o *nouveauOptions) setRanges(ranges ejson.Value) error {
	if ranges.Kind() != ejson.Object {
		return compat.NewError(compat.KindQueryParse, "ranges parameter must be an object")
	}
	for field, list := range ranges.Members() {
		facet := index.RangeFacet{Field: field.Text()}
		if list.Kind() != ejson.Array {
			return compat.NewError(compat.KindQueryParse, "range values must be lists of objects")
		}
		for v := range list.Elements() {
			r, err := labelledRange(v)
			if err != nil {
				return err
			}
			facet.Ranges = append(facet.Ranges, r)
		}
		o.Ranges = append(o.Ranges, facet)
	}
	return nil
}

// labelledRange reads an element of a range facet: {"label": …, "min": …, "max": …} with
// "min_inclusive" and "max_inclusive". A missing end is open. JSON has no infinite numbers, so
// Nouveau writes them as strings.
func labelledRange(v ejson.Value) (r index.LabelledRange, err error) {
	if v.Kind() != ejson.Object {
		return r, compat.NewError(compat.KindQueryParse, "all values in ranges parameter must be objects")
	}
	label, _ := v.Get("label")
	if label.Kind() != ejson.String {
		return r, compat.NewError(compat.KindBadRequest, "the label of a range must be a string")
	}
	r = index.LabelledRange{
		Label: label.Text(), Min: math.Inf(-1), Max: math.Inf(1), MinInclude: true, MaxInclude: true,
	}
	for _, end := range []struct {
		name    string
		value   *float64
		include *bool
	}{{"min", &r.Min, &r.MinInclude}, {"max", &r.Max, &r.MaxInclude}} {
		if n, ok := v.Get(end.name); ok && n.Kind() != ejson.Null {
			f, ok := n.Float()
			switch {
			case ok:
				*end.value = f
			case n.TextIs("Infinity"):
				*end.value = math.Inf(1)
			case n.TextIs("-Infinity"):
				*end.value = math.Inf(-1)
			default:
				return r, compat.NewError(compat.KindBadRequest, "the "+end.name+" of a range must be a number")
			}
		}
		if b, ok := v.Get(end.name + "_inclusive"); ok {
			if inclusive, ok := b.Bool(); ok {
				*end.include = inclusive
			}
		}
	}
	return r, nil
}
