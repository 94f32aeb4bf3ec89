package fulltext

import (
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/params"
)

// searchOptions are the options of _search (dreyfus_httpd). They are read by parseSearch and then
// have to pass Check. What the search server looks at itself is as it was given.
type searchOptions struct {
	Query         *string
	Partition     *string
	Bookmark      *string
	Limit         int64
	Sort          ejson.Value
	Stale         bool // take the index as it is
	IncludeDocs   bool
	IncludeFields ejson.Value

	// GroupBy is the field to group by, nil without groups; OldGroups is the form of group_by.
	GroupBy    *string
	OldGroups  bool
	GroupSort  ejson.Value
	GroupLimit int64

	Counts    ejson.Value
	Ranges    ejson.Value
	Drilldown []ejson.Value

	HighlightFields ejson.Value
	HighlightPre    string
	HighlightPost   string
	HighlightNumber int64
	HighlightSize   int64

	// LeadingWildcard is this project's own option: words such as *ing are taken.
	LeadingWildcard bool

	limit      ejson.Value // as given; Invalid: not
	partitions []string    // all that were given
}

// searchLimits are the settings of the section dreyfus that hold for a database.
type searchLimits struct{ Default, Max, MaxGroups int64 }

const defaultGroupLimit = 10

// newSearchOptions are Clouseau's defaults, where settings do not say otherwise.
func newSearchOptions(limits searchLimits) searchOptions {
	return searchOptions{
		Limit: limits.Default, GroupLimit: defaultGroupLimit, HighlightPre: "<em>", HighlightPost: "</em>",
		HighlightNumber: 1,
	}
}

// parseSearch reads the options of a GET (body is the zero Value) or POST. Unknown ones are
// ignored.
func parseSearch(q compat.Query, body ejson.Value, limits searchLimits) (*searchOptions, error) {
	options := newSearchOptions(limits)
	o := &options
	if body.Kind() == ejson.Invalid {
		for i := range q {
			if err := o.setText(q[i].Name, q[i].Value, limits); err != nil {
				return nil, err
			}
		}
		return o, nil
	}
	// A partition in the path arrives in the query; the body may repeat it, but not contradict it.
	if partition, ok := q.First("partition"); ok {
		o.setPartition(partition)
	}
	for name, value := range body.Members() {
		if err := o.setJSON(name.Text(), value, limits); err != nil {
			return nil, err
		}
	}
	for _, p := range o.partitions {
		if p != o.partitions[0] {
			return nil, compat.NewError(compat.KindBadRequest,
				"Multiple conflicting values for `partition` provided")
		}
	}
	return o, nil
}

func (o *searchOptions) setPartition(p string) {
	o.Partition, o.partitions = &p, append(o.partitions, p)
}

// setText reads an option of a query string (parse_index_param).
func (o *searchOptions) setText(name, text string, limits searchLimits) (err error) {
	v := params.Value{Text: text}
	switch name {
	case "q", "query":
		o.Query = &text
	case "partition":
		o.setPartition(text)
	case "bookmark":
		o.Bookmark = &text
	case "stale":
		if text != "ok" {
			return errStale
		}
		o.Stale = true
	case "include_docs", "stable", "allow_leading_wildcard":
		if text != "true" && text != "false" {
			return compat.NewError(compat.KindQueryParse, "Invalid value for "+name+": "+compat.ErlangString(text))
		}
		o.setBool(name, text == "true")
	case "group_by", "group_field":
		o.GroupBy, o.OldGroups = &text, name == "group_by"
	case "group_limit":
		o.GroupLimit, err = count(v, name, 1, limits.MaxGroups)
	case "highlight_number":
		o.HighlightNumber, err = count(v, name, 1, 0)
	case "highlight_size":
		o.HighlightSize, err = count(v, name, 1, 0)
	case "limit", "sort", "group_sort", "include_fields", "counts", "ranges", "drilldown", "highlight_fields",
		"highlight_pre_tag", "highlight_post_tag":
		value, err := params.ParseJSON(text)
		if err != nil {
			return err
		}
		return o.setJSON(name, value, limits)
	}
	return err
}

func (o *searchOptions) setBool(name string, b bool) {
	switch name {
	case "include_docs":
		o.IncludeDocs = b
	case "allow_leading_wildcard":
		o.LeadingWildcard = b
	}
}

// setJSON reads an option of a body (parse_json_index_param).
func (o *searchOptions) setJSON(name string, value ejson.Value, limits searchLimits) (err error) {
	v := params.Value{Text: value.Text(), JSON: value}
	switch name {
	case "q", "query":
		o.Query = v.Plain()
	case "partition":
		o.setPartition(*v.Plain())
	case "bookmark":
		o.Bookmark = v.Plain()
	case "stale":
		o.Stale = o.Stale || value.TextIs("ok")
	case "include_docs", "allow_leading_wildcard":
		if b, ok := value.Bool(); ok {
			o.setBool(name, b)
		}
	case "group_by", "group_field":
		o.GroupBy, o.OldGroups = v.Plain(), name == "group_by"
	case "group_limit":
		o.GroupLimit, err = count(v, name, 1, limits.MaxGroups)
	case "highlight_number":
		o.HighlightNumber, err = count(v, name, 1, 0)
	case "highlight_size":
		o.HighlightSize, err = count(v, name, 1, 0)
	case "limit":
		o.limit = value
	case "sort":
		o.Sort = value
	case "group_sort":
		o.GroupSort = value
	case "include_fields":
		o.IncludeFields = value
	case "counts":
		o.Counts = value
	case "ranges":
		o.Ranges = value
	case "drilldown":
		o.addDrilldown(value)
	case "highlight_fields":
		o.HighlightFields = value
	case "highlight_pre_tag":
		o.HighlightPre = *v.Plain()
	case "highlight_post_tag":
		o.HighlightPost = *v.Plain()
	}
	return err
}

// addDrilldown adds a list of a field and values, or takes a list of such lists.
func (o *searchOptions) addDrilldown(value ejson.Value) {
	lists := value.Kind() == ejson.Array
	for v := range value.Elements() {
		lists = lists && v.Kind() == ejson.Array
	}
	if !lists || value.Len() == 0 {
		o.Drilldown = append(o.Drilldown, value)
		return
	}
	o.Drilldown = nil
	for v := range value.Elements() {
		o.Drilldown = append(o.Drilldown, v)
	}
}

// count is a whole number between bounds (parse_positive_int_param); most 0 is none.
func count(v params.Value, name string, least, most int64) (int64, error) {
	// CouchDB prints what it cannot take as Erlang has it: a list of characters from a query, a
	// term from a body.
	text, shown := string(v.JSON.Raw()), ""
	if v.JSON.Kind() == ejson.Invalid {
		text, shown = v.Text, compat.ErlangString(v.Text)
	} else {
		shown = compat.ErlangTerm(v.JSON)
	}
	n, ok := compat.ErlangInteger(text)
	if !ok || v.JSON.Kind() != ejson.Invalid && v.JSON.Kind() != ejson.Int {
		return 0, compat.NewError(compat.KindQueryParse, "Invalid value for "+name+": "+shown)
	}
	switch {
	case most > 0 && n > most:
		return 0, compat.NewError(compat.KindQueryParse,
			"Value for "+name+" is too large, must not exceed "+strconv.FormatInt(most, 10))
	case n < least && least == 0:
		return 0, compat.NewError(compat.KindQueryParse, name+" must be greater than or equal to zero")
	case n < least:
		return 0, compat.NewError(compat.KindQueryParse, name+" must be greater than zero")
	}
	return n, nil
}

var (
	errStale       = compat.NewError(compat.KindQueryParse, "stale only available as stale=ok")
	errNoQuery     = compat.NewError(compat.KindQueryParse, "Query must include a 'q' or 'query' argument")
	errNoPartition = compat.NewError(compat.KindBadRequest,
		"`partition` parameter is mandatory for queries to this index.")
	errPartition       = compat.NewError(compat.KindBadRequest, "`partition` not supported on this index")
	errPartitionFacets = compat.NewError(compat.KindBadRequest, "`partition` and any of `drilldown`, `ranges`, "+
		"`group_field`, `group_sort`, `group_limit` or `group_by` are incompatible")
)

// Check checks the options together (validate_search_restrictions). The database and the index are
// partitioned or not.
func (o *searchOptions) Check(database, index bool, limits searchLimits) (err error) {
	if o.Query == nil {
		return errNoQuery
	}
	if err := checkPartition(o.Partition != nil, database, index); err != nil {
		return err
	}
	// The limit of a body is checked here and not where it is read: a query without q, or with a
	// partition that cannot be, is told so first.
	if o.limit.Kind() != ejson.Invalid {
		if o.Limit, err = count(params.Value{JSON: o.limit}, "limit", 0, limits.Max); err != nil {
			return err
		}
	}
	if o.Partition != nil && (o.Counts.Kind() != ejson.Invalid || len(o.Drilldown) > 0 || o.GroupBy != nil ||
		o.Ranges.Kind() != ejson.Invalid || o.GroupSort.Kind() != ejson.Invalid || o.GroupLimit != defaultGroupLimit) {
		return errPartitionFacets
	}
	return nil
}
