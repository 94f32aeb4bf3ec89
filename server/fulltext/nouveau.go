package fulltext

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
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

// mostGroupedHits is how many hits an answer in groups may have: they are in memory together.
const mostGroupedHits = 100_000

var errGroupedHits = compat.NewError(compat.KindQueryParse,
	"limit times group_limit must not be greater than "+strconv.Itoa(mostGroupedHits))

// nouveauAvailable refuses methods that Nouveau does not take; allow is how it says which it does.
func (h *Handlers) nouveauAvailable(c *call.Call, allow string, methods ...string) error {
	if h.indexes == nil {
		return compat.ErrMissing
	}
	if !slices.Contains(methods, c.MethodName()) {
		return nouveauMethod(allow)
	}
	return nil
}

func nouveauMethod(allow string) error {
	return &compat.Error{Kind: compat.KindMethodNotAllowed, Reason: "Only " + allow + " allowed", Allow: allow}
}

// nouveau serves GET and POST of …/_nouveau/{index} (nouveau_httpd:handle_search_req_int).
func (h *Handlers) nouveau(c *call.Call) error {
	if err := h.nouveauAvailable(c, "GET, POST", http.MethodGet, http.MethodPost); err != nil {
		return err
	}
	def, missing, err := h.lookup(c, segment.Nouveau)
	if err != nil {
		return err
	}
	var body ejson.Value
	if c.Method == http.MethodPost {
		if body, err = c.JSONRequest(); err != nil {
			return err
		}
	}
	o, err := parseNouveau(c.Query, body, limitsOf(c, false))
	// What is wrong with the options is reported before an index that is missing.
	if err == nil {
		err = missing
	}
	if err != nil {
		return err
	}
	if o.Beyond.GroupBy != nil && o.Limit > mostGroupedHits/o.Beyond.GroupLimit {
		return errGroupedHits
	}
	began := time.Now()
	c.Env.Stats.ActiveSearches.Add(1)
	defer func() {
		c.Env.Stats.ActiveSearches.Add(-1)
		c.Env.Stats.NouveauTime.Took(time.Since(began))
	}()
	if o.Update {
		if err := h.indexes.Update(c.Context(), c.DB, def); err != nil {
			return err
		}
		c.Env.Stats.NouveauUpdateTime.Took(time.Since(began))
	}
	// Nouveau tells how long the update took, never 0.
	a := &nouveauAnswer{c: c, o: o, latency: max(1, time.Since(began).Milliseconds())}
	return h.searching(c, def, func(ctx context.Context, s *engine.Searcher) error {
		a.s = s
		return a.answer(ctx)
	})
}

// nouveauAnswer is the answer to one query of _nouveau.
type nouveauAnswer struct {
	c       *call.Call
	o       *nouveauOptions
	s       *engine.Searcher
	stream  *call.Stream
	query   query.Node // without the partition
	sort    []index.SortField
	only    map[string]bool // names of fields that are shown; nil: all
	latency int64           // milliseconds that bringing the index up to date took

	first   *index.Result // has the counts and the total; nil: nothing is written yet
	written int64         // hits
	last    index.Hit     // of these
	long    bool          // the answer is in several parts, and its bookmark at the end
}

// answer makes the request to the index from the options of a Nouveau query and runs it. Options
// that CouchDB has not (Beyond) change it: groups replace the list of hits, and have no bookmark.
func (a *nouveauAnswer) answer(ctx context.Context) error {
	if refused, err := a.s.Refused(); err != nil || refused != "" {
		return cmp.Or(err, badRequest(refused))
	}
	n, err := a.s.Parse(a.o.Query, a.o.Locale, query.Options{AllowLeadingWildcard: a.o.LeadingWildcard})
	if err != nil {
		return err
	}
	a.query, a.only = n, onlyFields(&a.o.Beyond)
	if a.o.Partition != nil {
		n = engine.InPartition(n, *a.o.Partition)
	}
	q := &index.Request{Query: n, Counts: a.o.Counts, Ranges: a.o.Ranges}
	if q.Sort, err = a.s.ParseSort(a.o.Sort); err != nil {
		return err
	}
	if q.Drilldown, err = drilldown(&a.o.Beyond); err != nil {
		return err
	}
	if a.sort = q.Sort; a.o.Beyond.GroupBy != nil {
		q.Limit = int(a.o.Limit)
		return a.groups(ctx, q)
	}
	if a.o.Bookmark != nil {
		if q.After, err = readOrderBookmark(*a.o.Bookmark, q.Sort); err != nil {
			return err
		}
	}
	return a.parts(q)
}

// end writes the total and what comes behind it.
func (a *nouveauAnswer) end(b []byte, total int64) error {
	b = strconv.AppendInt(append(b, `,"total_hits":`...), total, 10)
	b = append(b, `,"total_hits_relation":"EQUAL_TO","update_latency":`...)
	b = strconv.AppendInt(b, a.latency, 10)
	if a.long {
		b = ejson.AppendString(append(b, `,"bookmark":`...), orderBookmark(a.sort, &a.last))
	}
	if err := a.stream.Commit(append(b, "}\n"...)); err != nil {
		return err
	}
	return a.stream.Close()
}

// hits writes hits behind others or not, and calls wrote after each: an answer that ends in between
// can go on there.
func (a *nouveauAnswer) hits(hits []index.Hit, others bool, wrote func(*index.Hit)) error {
	write := func(i int, d *docread.Document) error {
		all, err := a.s.Stored(a.c.Context(), &hits[i])
		if err != nil {
			return err
		}
		b := a.stream.Buffer()
		if others {
			b = append(b, ',')
		}
		b = append(b, '{')
		if a.o.IncludeDocs {
			if b, err = appendDocument(a.c, append(b, `"doc":`...), d, a.sendPart); err != nil {
				return err
			}
			b = append(b, ',')
		}
		b = a.appendFields(b, all)
		if a.o.Beyond.HighlightFields.Kind() == ejson.Array {
			if b, err = appendHighlights(a.c.Context(), b, a.s, a.query, &a.o.Beyond, all); err != nil {
				return err
			}
		}
		b = ejson.AppendString(append(b, `,"id":`...), hits[i].ID)
		b = append(appendOrder(append(b, `,"order":`...), a.sort, &hits[i]), '}')
		others = true
		// Noted before the commit: a hit of which a part was sent must not come again.
		wrote(&hits[i])
		return a.stream.Commit(b)
	}
	if a.o.IncludeDocs {
		return eachDocument(a.c, a.s.Snapshot, hits, write)
	}
	for i := range hits {
		if err := write(i, nil); err != nil {
			return err
		}
	}
	return nil
}

// sendPart sends a part of a hit, which can then only be ended.
func (a *nouveauAnswer) sendPart(b []byte) ([]byte, error) {
	a.s.Begun = true
	return a.stream.Send(b)
}

// appendFields prints the stored values of a hit, by name; values of one name are a list in the
// order of the document.
func (a *nouveauAnswer) appendFields(b []byte, all []segment.Stored) []byte {
	b = append(b, `"fields":{`...)
	list := names(all)
	slices.Sort(list)
	separator := ""
	for _, name := range list {
		if a.only != nil && !a.only[name] {
			continue
		}
		b = append(ejson.AppendString(append(b, separator...), name), ':')
		b = appendInOrder(b, stored(all, name))
		separator = ","
	}
	return append(b, '}')
}

// groups answers a query whose hits are grouped, which Nouveau does not do.
func (a *nouveauAnswer) groups(ctx context.Context, request *index.Request) error {
	q, err := groupRequest(a.s, request, &a.o.Beyond)
	if err != nil {
		return err
	}
	result, err := a.s.Group(ctx, q)
	if err != nil {
		return err
	}
	a.s.Begun, a.stream = true, a.c.Stream(http.StatusOK)
	if _, err := a.stream.WriteString(`{"groups":[`); err != nil {
		return err
	}
	err = writeGroups(a.stream, result.Groups, func(b []byte, _ *index.Group) []byte {
		return append(b, `,"hits":`...)
	}, func(hits []index.Hit) error {
		return a.hits(hits, false, func(*index.Hit) {})
	}, func(b []byte, g *index.Group) []byte {
		return strconv.AppendInt(append(b, `,"total_hits":`...), g.Total, 10)
	})
	if err != nil {
		return err
	}
	return a.end(append(a.stream.Buffer(), ']'), result.Total)
}

// appendInOrder appends the values of a field: one as it is, several as an array.
func appendInOrder(b []byte, values []segment.Stored) []byte {
	if len(values) == 1 {
		return appendStored(b, &values[0])
	}
	b = append(b, '[')
	for i := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendStored(b, &values[i])
	}
	return append(b, ']')
}

// appendCounts appends the greatest counts of each field, in the order of their labels.
func (a *nouveauAnswer) appendCounts(b []byte, counts map[string]map[string]int64) []byte {
	shown := map[string]map[string]int64{}
	for _, field := range a.o.Counts {
		shown[field] = a.greatest(counts[field])
	}
	return appendIntegers(b, shown)
}

// greatest are as many counts as the answer shows of a field.
func (a *nouveauAnswer) greatest(all map[string]int64) map[string]int64 {
	labels := slices.SortedFunc(maps.Keys(all), func(x, y string) int {
		return cmp.Or(cmp.Compare(all[y], all[x]), strings.Compare(x, y))
	})
	shown := map[string]int64{}
	for _, label := range labels[:min(int64(len(labels)), a.o.Top)] {
		shown[label] = all[label]
	}
	return shown
}

// appendRanges prints the counts of ranges, the greatest as far as `top_n` goes.
func (a *nouveauAnswer) appendRanges(b []byte, ranges map[string]map[string]int64) []byte {
	shown := map[string]map[string]int64{}
	for _, r := range a.o.Ranges {
		shown[r.Field] = a.greatest(ranges[r.Field])
	}
	return appendIntegers(b, shown)
}

// appendIntegers prints counts by field and label, both in order, so that answers can be compared.
func appendIntegers(b []byte, all map[string]map[string]int64) []byte {
	b = append(b, '{')
	separator := ""
	for _, field := range slices.Sorted(maps.Keys(all)) {
		b = append(ejson.AppendString(append(b, separator...), field), ":{"...)
		separator = ","
		inner := ""
		for _, label := range slices.Sorted(maps.Keys(all[field])) {
			b = append(ejson.AppendString(append(b, inner...), label), ':')
			b = strconv.AppendInt(b, all[field][label], 10)
			inner = ","
		}
		b = append(b, '}')
	}
	return append(b, '}')
}
