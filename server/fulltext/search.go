package fulltext

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	engine "github.com/settee-db/settee/search"
	"github.com/settee-db/settee/search/index"
	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage/docread"
)

var errNoSearch = compat.NewError(compat.KindServiceUnavailable, "Search is not available")

// available refuses where the server has no search indexes.
func (h *Handlers) available(c *call.Call) error {
	if h.indexes != nil {
		return nil
	}
	if c.Segment(1) == "_design" {
		if _, err := c.Docs.Open(c.Context(), c.DocID(), docread.OpenOptions{Members: docread.NoMembers}); err != nil {
			return err
		}
	}
	return errNoSearch
}

// limitsOf reads the settings that hold for a database.
func limitsOf(c *call.Call, partitioned bool) searchLimits {
	number := func(key string) int64 { return c.Env.Config.Int("dreyfus", key, math.MaxInt32) }
	l := searchLimits{Default: number("limit"), Max: number("max_limit"), MaxGroups: number("max_group_limit")}
	if partitioned {
		l.Default, l.Max = number("limit_partitions"), number("max_limit_partitions")
	}
	return l
}

// search serves GET and POST of …/_search/{index}, in the order in which CouchDB looks at what is
// asked for (dreyfus_httpd:handle_search_req/3).
func (h *Handlers) search(c *call.Call) error {
	if err := h.available(c); err != nil {
		return err
	}
	began := time.Now()
	defer func() { c.Env.Stats.SearchTime.Took(time.Since(began)) }()
	def, missing, err := h.lookup(c, segment.Clouseau)
	if err != nil {
		return err
	}
	var body ejson.Value
	if c.Method == http.MethodPost {
		// Of any content type: dreyfus_httpd:parse_index_params looks at none.
		if body, err = c.JSONObject(); err != nil {
			return err
		}
	}
	partitioned, err := c.DB.Settings().Partitioned(c.Context())
	if err != nil {
		return err
	}
	limits := limitsOf(c, partitioned)
	o, err := parseSearch(c.Query, body, limits)
	if err == nil {
		err = o.Check(partitioned, def.Partitioned, limits)
	}
	if err == nil {
		err = missing
	}
	if err != nil {
		return err
	}
	if !o.Stale {
		if err := h.indexes.Update(c.Context(), c.DB, def); err != nil {
			return err
		}
	}
	return h.searching(c, def, func(ctx context.Context, s *engine.Searcher) error {
		a := &searchAnswer{c: c, o: o, s: s}
		if err := a.read(); err != nil {
			return err
		}
		if o.GroupBy != nil {
			return a.groups(ctx)
		}
		return a.rows(ctx)
	})
}

// read resolves what the search server looks at: the query, sorts, facets.
func (a *searchAnswer) read() (err error) {
	o := a.o
	if a.query, err = a.s.Parse(*o.Query, "", query.Options{AllowLeadingWildcard: o.LeadingWildcard}); err != nil {
		return err
	}
	a.request = index.Request{Query: a.query, Limit: int(o.Limit)}
	if o.Partition != nil {
		a.request.Query = engine.InPartition(a.query, *o.Partition)
	}
	if a.sort, err = sortTexts(o.Sort); err != nil {
		return err
	}
	if a.request.Sort, err = a.s.ParseSort(a.sort); err != nil {
		return err
	}
	if o.Bookmark != nil {
		if a.request.After, err = readBookmark(*o.Bookmark, a.sort, len(a.request.Sort)); err != nil {
			return err
		}
	}
	a.only = onlyFields(o)
	return a.readFacets()
}

// onlyFields are the names of fields that are shown; nil: all.
func onlyFields(o *searchOptions) map[string]bool {
	if o.IncludeFields.Kind() == ejson.Invalid {
		return nil
	}
	only := map[string]bool{}
	for v := range o.IncludeFields.Elements() {
		only[v.Text()] = true
	}
	return only
}

// sortTexts are the texts of a sort, which is one or a list.
func sortTexts(sort ejson.Value) (texts []string, err error) {
	bad := func(v ejson.Value) error {
		return compat.NewError(compat.KindBadRequest, "Unrecognized sort parameter: "+string(v.AppendJSON(nil)))
	}
	switch sort.Kind() {
	case ejson.Invalid, ejson.Null:
		return nil, nil
	case ejson.String:
		if sort.TextIs("relevance") {
			return nil, nil
		}
		return []string{sort.Text()}, nil
	case ejson.Array:
		for v := range sort.Elements() {
			if v.Kind() != ejson.String {
				return nil, bad(v)
			}
			texts = append(texts, v.Text())
		}
		return texts, nil
	}
	return nil, bad(sort)
}

// searchAnswer is the answer to one query of _search.
type searchAnswer struct {
	c       *call.Call
	o       *searchOptions
	s       *engine.Searcher
	stream  *call.Stream
	query   query.Node // without the partition
	request index.Request
	sort    []string
	only    map[string]bool // names of fields that are shown; nil: all
	ranges  []textRange
	counted bool
}

// rows answers a query without groups.
func (a *searchAnswer) rows(ctx context.Context) error {
	result, err := a.s.Search(ctx, &a.request)
	if err != nil {
		return err
	}
	a.s.Begun, a.stream = true, a.c.Stream(http.StatusOK)
	b := strconv.AppendInt(append(a.stream.Buffer(), `{"total_rows":`...), result.Total, 10)
	bookmark := noBookmark
	if n := len(result.Hits); n > 0 {
		bookmark = bookmarkAfter(a.sort, &result.Hits[n-1])
	} else if a.o.Bookmark != nil {
		bookmark = *a.o.Bookmark
	}
	b = ejson.AppendString(append(b, `,"bookmark":`...), bookmark)
	if err := a.stream.Commit(append(b, `,"rows":[`...)); err != nil {
		return err
	}
	if err := a.hits(a.request.Sort, result.Hits); err != nil {
		return err
	}
	b = a.appendFacets(append(a.stream.Buffer(), ']'), result)
	if err := a.stream.Commit(append(b, "}\n"...)); err != nil {
		return err
	}
	return a.stream.Close()
}

// hits writes rows (hits_to_json).
func (a *searchAnswer) hits(sort []index.SortField, hits []index.Hit) error {
	write := func(i int, d *docread.Document, withDoc bool) error {
		b := a.stream.Buffer()
		if i > 0 {
			b = append(b, ',')
		}
		b, err := a.appendHit(a.c.Context(), b, sort, &hits[i])
		if err != nil {
			return err
		}
		if withDoc {
			if b, err = appendDocument(a.c, append(b, `,"doc":`...), d, a.stream.Send); err != nil {
				return err
			}
		}
		return a.stream.Commit(append(b, '}'))
	}
	if a.o.IncludeDocs {
		return eachDocument(a.c, a.s.Snapshot, hits, func(i int, d *docread.Document) error {
			return write(i, d, true)
		})
	}
	for i := range hits {
		if err := write(i, nil, false); err != nil {
			return err
		}
	}
	return nil
}

// appendHit appends a row but for its document and the closing brace.
func (a *searchAnswer) appendHit(
	ctx context.Context, b []byte, sort []index.SortField, hit *index.Hit,
) ([]byte, error) {
	b = ejson.AppendString(append(b, `{"id":`...), hit.ID)
	b = append(b, `,"order":[`...)
	for i, v := range hit.Sort {
		switch {
		case v.IsNull:
			b = append(b, "null"...)
		case sort[i].By == index.ByOrder:
			b = strconv.AppendInt(b, hit.Order, 10)
		case v.IsText:
			b = ejson.AppendString(b, v.Text)
		default:
			b = ejson.AppendFloat(b, v.Number)
		}
		b = append(b, ',')
	}
	b = append(strconv.AppendInt(b, hit.Order, 10), `],"fields":{`...)
	all, err := a.s.Stored(ctx, hit)
	if err != nil {
		return nil, err
	}
	separator := ""
	for _, name := range names(all) {
		if a.only != nil && !a.only[name] {
			continue
		}
		b = append(ejson.AppendString(append(b, separator...), name), ':')
		b = appendNewestFirst(b, stored(all, name))
		separator = ","
	}
	b = append(b, '}')
	if a.o.HighlightFields.Kind() == ejson.Array {
		return appendHighlights(ctx, b, a.s, a.query, a.o, all)
	}
	return b, nil
}

// appendNewestFirst appends the values of a field: one as it is, several as an array whose first
// element was given last.
func appendNewestFirst(b []byte, values []segment.Stored) []byte {
	if len(values) == 1 {
		return appendStored(b, &values[0])
	}
	b = append(b, '[')
	for i := len(values) - 1; i >= 0; i-- {
		b = appendStored(b, &values[i])
		if i > 0 {
			b = append(b, ',')
		}
	}
	return append(b, ']')
}

// appendStored prints a stored value as the document gave it: a number or a text.
func appendStored(b []byte, v *segment.Stored) []byte {
	if v.IsNumber {
		return ejson.AppendFloat(b, v.Number)
	}
	return ejson.AppendString(b, v.Text)
}

// appendHighlights appends fragments of the stored texts of fields.
func appendHighlights(
	ctx context.Context, b []byte, s *engine.Searcher, n query.Node, o *searchOptions, all []segment.Stored,
) ([]byte, error) {
	h := &index.Highlighter{Query: n, Analyze: s.Analyze, Pre: o.HighlightPre, Post: o.HighlightPost,
		Size: int(min(o.HighlightSize, math.MaxInt32)), Number: int(min(o.HighlightNumber, math.MaxInt32))}
	b = append(b, `,"highlights":{`...)
	separator := ""
	for field := range o.HighlightFields.Elements() {
		name := field.Text()
		b = append(ejson.AppendString(append(b, separator...), name), ":["...)
		separator = ","
		inner := ""
		for _, v := range stored(all, name) {
			fragments, err := h.Fragments(ctx, name, v.Text)
			if err != nil {
				return nil, err
			}
			for _, text := range fragments {
				b = ejson.AppendString(append(b, inner...), text)
				inner = ","
			}
		}
		b = append(b, ']')
	}
	return append(b, '}'), nil
}
