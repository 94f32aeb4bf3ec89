package mango

import (
	"context"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
)

// AppendExplain appends the answer of _explain, without a line feed (mango_cursor:explain/1). Where
// there is an index over all fields it estimates what each access path would read.
func (p *Plan) AppendExplain(ctx context.Context, src *Source, dst []byte, db string) ([]byte, error) {
	var c executionPlan
	// The estimate reads counts of the index, which tell of documents that the user may not see.
	estimated := p.best(KindAllFields) != nil && p.text == nil
	if estimated && src.Shown == nil {
		var err error
		if c, err = p.optimize(ctx, src, true); err != nil {
			return nil, err
		}
		// What is explained is what _find would read, which the estimate may have changed.
		if c.index != p.index {
			other := *p
			other.use(c.index)
			p = &other
		}
	}
	r := p.req
	dst = ejson.AppendString(append(dst, `{"dbname":`...), db)
	if p.index == nil {
		// A request that no index can serve is answered with null here, where _find refuses it.
		dst = append(dst, `,"index":null`...)
	} else {
		dst = p.index.AppendJSON(append(dst, `,"index":`...))
	}
	dst = appendBool(append(dst, `,"partitioned":`...), p.partitioned)
	dst = r.Selector.AppendJSON(append(dst, `,"selector":`...))
	dst = r.appendJSON(append(dst, `,"opts":`...))
	dst = append(append(dst, `,"limit":`...), p.limit.text...)
	dst = append(append(dst, `,"skip":`...), r.skip.text...)
	dst = r.Fields.AppendNames(append(dst, `,"fields":`...))
	dst = p.appendCandidates(append(dst, `,"index_candidates":`...))
	dst = p.appendHints(append(dst, `,"selector_hints":`...))
	switch {
	case p.index == nil:
	case p.text != nil:
		dst = p.appendText(dst)
	case p.index.Kind == KindAllFields:
		dst = append(dst, `,"covering":false`...)
	default:
		dst = p.appendArguments(dst)
	}
	if estimated {
		dst = c.appendJSON(append(dst, `,"auto":`...))
	}
	return append(dst, '}'), nil
}

// appendArguments appends what CouchDB asks of the view, and whether documents are needed
// (mango_cursor_view:explain/1).
func (p *Plan) appendArguments(dst []byte) []byte {
	r := p.req
	covering := p.Covering()
	// With a quorum above one CouchDB reads the documents itself instead of asking the view for
	// them.
	dst = appendBool(append(dst, `,"mrargs":{"include_docs":`...), !covering && r.r.n == 1)
	dst = append(dst, `,"view_type":"map","reduce":false,"partition":`...)
	if r.Partition == "" {
		dst = append(dst, "null"...)
	} else {
		dst = ejson.AppendString(dst, r.Partition)
	}
	start, end := p.appendStart(nil), p.appendEnd(nil)
	direction := "fwd"
	if r.Sort.Descending {
		// A view that is read backwards begins at its upper end.
		start, end, direction = end, start, "rev"
	}
	dst = append(append(dst, `,"start_key":`...), start...)
	dst = append(append(dst, `,"end_key":`...), end...)
	dst = append(append(dst, `,"direction":"`...), direction...)
	dst = appendBool(append(dst, `","stable":`...), r.StaleOK || r.Stable)
	dst = appendBool(append(dst, `,"update":`...), r.Update && !r.StaleOK)
	if r.Conflicts {
		dst = append(dst, `,"conflicts":true`...)
	} else {
		// The record's default is the atom undefined, which JSON shows as a string.
		dst = append(dst, `,"conflicts":"undefined"`...)
	}
	return appendBool(append(dst, `},"covering":`...), covering)
}

const maxKey = `"<MAX>"`

// appendStart appends the lower end of the range: the bounds of the leading columns that have one
// (mango_idx_view:start_key/1).
func (p *Plan) appendStart(dst []byte) []byte {
	if p.Nothing() {
		return append(dst, "null"...)
	}
	// The keys of _all_docs are ids and no lists. null is an open lower end there; "" is the lowest
	// text, where a condition bounds the ids only from above.
	if p.index.Kind == KindAllDocs {
		switch {
		case len(p.ranges) == 0:
			return append(dst, "null"...)
		case p.ranges[0].Low.Kind() == ejson.Invalid:
			return append(dst, `""`...)
		}
		return p.ranges[0].Low.AppendJSON(dst)
	}
	dst = append(dst, '[')
	for i := range p.ranges {
		// A column without a bound ends the key: those behind it would not narrow the range.
		if p.ranges[i].Low.Kind() == ejson.Invalid {
			break
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = p.ranges[i].Low.AppendJSON(dst)
	}
	return append(dst, ']')
}

// appendEnd appends the upper end (mango_idx_view:end_key/1).
func (p *Plan) appendEnd(dst []byte) []byte {
	if p.Nothing() {
		return append(dst, "null"...)
	}
	if p.index.Kind == KindAllDocs {
		if len(p.ranges) == 0 || p.ranges[0].High.Kind() == ejson.Invalid {
			return append(dst, maxKey...)
		}
		return p.ranges[0].High.AppendJSON(dst)
	}
	dst = append(dst, '[')
	for i := range p.ranges {
		if p.ranges[i].High.Kind() == ejson.Invalid {
			break
		}
		dst = append(p.ranges[i].High.AppendJSON(dst), ',')
	}
	return append(append(dst, maxKey...), ']')
}

// appendHints appends which fields an index could help with
// (mango_cursor:extract_selector_hints/1). CouchDB lists all types of index that the server has;
// here those of text indexes are listed if the database has one.
func (p *Plan) appendHints(dst []byte) []byte {
	// Types of values are cut off ("age:number"), and fields that a $text asks for as a whole have
	// none.
	s := p.req.Selector
	dst = appendHint(s, append(dst, '['), KindJSON, s.Indexable())
	tree, err := textTree(s)
	for _, kind := range []Kind{KindText, KindNouveau} {
		has := func(c candidate) bool { return c.index.Kind == kind }
		if err == nil && slices.ContainsFunc(p.candidates, has) {
			var names []string
			if tree != nil {
				names = tree.indexable(nil)
			}
			dst = appendHint(s, append(dst, ','), kind, names)
		}
	}
	return append(dst, ']')
}

// appendHint appends the fields that a type of index can serve, without the types of values, and
// others.
func appendHint(s *selector.Selector, dst []byte, kind Kind, names []string) []byte {
	var indexable []string
	for _, name := range names {
		name, _, _ = strings.Cut(name, ":")
		indexable = append(indexable, name)
	}
	slices.Sort(indexable)
	indexable = slices.Compact(indexable)
	others := slices.DeleteFunc(s.Fields(), func(name string) bool { return slices.Contains(indexable, name) })
	slices.Sort(others)
	others = slices.Compact(others)
	dst = append(append(append(dst, `{"type":"`...), kind.String()...), `","indexable_fields":`...)
	dst = ejson.AppendStrings(dst, indexable)
	dst = ejson.AppendStrings(append(dst, `,"unindexable_fields":`...), others)
	return append(dst, '}')
}

// verdict is the entry of _explain for an index that was not chosen.
type verdict struct {
	usable  bool
	reason  string
	ranking int
}

// add takes one more finding into account: of several reasons the first stays, rankings add up
// (mango_cursor:enhance_candidates/2).
func (v *verdict) add(usable bool, reason string, ranking int) {
	v.usable = v.usable && usable
	if v.reason == "" {
		v.reason = reason
	}
	v.ranking += ranking
}

// appendCandidates appends index_candidates: all indexes but the chosen one, with the first reason
// against each (mango_cursor:extract_candidate_indexes/1). They stand in the reverse of the order
// of _index. An index that cannot cover a query at all, _all_docs or a text index, has null for
// "covering".
func (p *Plan) appendCandidates(dst []byte) []byte {
	ranks := p.groupRanks()
	candidates := slices.Clone(p.candidates)
	sort.Slice(candidates, func(i, j int) bool {
		return compareIndexes(candidates[i].index, candidates[j].index) > 0
	})
	dst = append(dst, '[')
	separator := ""
	for i := range candidates {
		c := &candidates[i]
		if c.index == p.index {
			continue
		}
		v := p.verdict(c, ranks)
		dst = c.index.AppendJSON(append(append(dst, separator...), `{"index":`...))
		dst = appendBool(append(dst, `,"analysis":{"usable":`...), v.usable)
		dst = ejson.AppendString(append(dst, `,"reasons":[{"name":`...), v.reason)
		dst = strconv.AppendInt(append(dst, `}],"ranking":`...), int64(v.ranking), 10)
		dst = append(dst, `,"covering":`...)
		if c.index.Kind == KindAllDocs || c.index.Kind.IsText() {
			dst = append(dst, "null"...)
		} else {
			dst = appendBool(dst, c.index.covers(p.req.Fields, nil))
		}
		dst = append(dst, "}}"...)
		separator = ","
	}
	return append(dst, ']')
}

// ranks are the rankings of the groups of indexes that dropped out, from the last to the first.
//
// A ranking tells how late an index dropped out: the higher, the earlier. They are numbers that
// clients show to users, so they are CouchDB's to the digit.
type ranks struct{ kind, excluded, unusable, scope, partial int }

// groupRanks numbers the groups: each begins one after the one before if that has members.
func (p *Plan) groupRanks() (r ranks) {
	more := func(rank int, in func(c *candidate) bool) int {
		if slices.ContainsFunc(p.candidates, func(c candidate) bool { return in(&c) }) {
			rank++
		}
		return rank
	}
	r.kind = max(1, len(p.ofKind()))
	r.excluded = more(r.kind, p.isOfOtherKind)
	r.unusable = more(r.excluded, isExcluded)
	r.scope = more(r.unusable, isUnusable)
	r.partial = more(r.scope, isOutOfScope)
	return r
}

// ofKind are the indexes of the kind of the one that is read.
func (p *Plan) ofKind() []ranked {
	if p.index == nil {
		return nil
	}
	return p.ranked[p.index.Kind]
}

func (p *Plan) isOfOtherKind(c *candidate) bool { return c.chosen && c.index.Kind != p.index.Kind }

func isExcluded(c *candidate) bool   { return c.usable() && !c.chosen }
func isUnusable(c *candidate) bool   { return c.scope && c.global && c.reason != "" }
func isOutOfScope(c *candidate) bool { return !c.index.Filter && !c.scope }

// verdict goes through the groups in CouchDB's order (mango_cursor:extract_candidate_indexes/1).
//
// An index may be in several groups; then rankings add up, as CouchDB folds one finding after
// another into the same map.
func (p *Plan) verdict(c *candidate, r ranks) verdict {
	v := verdict{usable: true}
	if c.index.Filter {
		v.add(false, reasonPartial, r.partial)
	}
	if isOutOfScope(c) {
		v.add(false, reasonScope, r.scope)
	}
	if isUnusable(c) {
		v.add(false, c.reason, r.unusable)
	}
	if isExcluded(c) {
		v.add(true, reasonExcluded, r.excluded)
	}
	if c.chosen && p.isOfOtherKind(c) {
		v.add(true, reasonKind, r.kind)
	}
	for i, r := range p.ofKind() {
		if r.index != c.index {
			continue
		}
		// The chosen one is not asked here (appendCandidates leaves it out), so that whoever is of
		// its kind lost against it: by unused ranges, by more columns, or by its name.
		switch {
		case r.distance > 0:
			v.add(true, reasonLessOverlap, i)
		case len(c.index.Columns) > len(p.index.Columns):
			v.add(true, reasonTooManyFields, i)
		default:
			v.add(true, reasonAlphabetically, i)
		}
	}
	return v
}

// appendJSON appends the access paths of an index over all fields, and those beside it, with what
// each would read.
func (c *executionPlan) appendJSON(dst []byte) []byte {
	dst = appendBool(append(dst, `{"ready":`...), c.ready)
	// The member is called "ways" in answers; in the code it is an access path.
	dst = append(dst, `,"ways":[`...)
	for i := range c.paths {
		if i > 0 {
			dst = append(dst, ',')
		}
		w := &c.paths[i]
		dst = w.appendName(append(dst, '{'))
		if w.entries != nil {
			dst = strconv.AppendInt(append(dst, `,"ranges":`...), int64(w.entries.width()), 10)
		}
		dst = appendBool(append(dst, `,"sorted":`...), w.sorted)
		dst = strconv.AppendInt(append(dst, `,"estimate":`...), w.n, 10)
		dst = appendBool(append(dst, `,"exact":`...), w.exact)
		dst = append(appendBool(append(dst, `,"chosen":`...), w.chosen), '}')
	}
	dst = append(dst, ']')
	// How many documents are read in the order before those of the filter are sorted instead.
	if c.budget > 0 {
		dst = strconv.AppendInt(append(dst, `,"sorts_after":`...), c.budget, 10)
	}
	return append(dst, '}')
}

// appendName appends the members that tell an access path: its index, and of an index over all
// fields the field, or the fields of the branches of an $or.
func (w *accessPath) appendName(dst []byte) []byte {
	dst = append(append(append(dst, `"type":"`...), w.index.Kind.String()...), '"')
	if w.index.Kind != KindAllDocs {
		dst = ejson.AppendString(append(dst, `,"ddoc":`...), w.index.DDoc)
		dst = ejson.AppendString(append(dst, `,"name":`...), w.index.Name)
	}
	switch {
	case w.entries == nil:
	case len(w.entries.fields) == 1:
		dst = ejson.AppendString(append(dst, `,"field":`...), w.entries.fields[0])
	default:
		dst = ejson.AppendStrings(append(dst, `,"fields":`...), w.entries.fields)
	}
	return dst
}

// note adds what is read to the statistics; how is what for: "order" for the rows in the order of
// the answer, "sort" for documents that are sorted.
func (s *Stats) note(w *accessPath, how string) {
	read := s.AccessPaths
	if len(read) > 0 {
		read = append(read, ',')
	}
	read = w.appendName(append(read, '{'))
	s.AccessPaths = append(ejson.AppendString(append(read, `,"read_for":`...), how), '}')
}

// noteChosen notes what is read first.
func (f *finder) noteChosen() {
	c := &f.exec
	switch {
	case f.plan.text != nil:
	case f.plan.best(KindAllFields) == nil && f.plan.index.Kind != KindAllFields:
	case c.filter != nil && c.budget == 0:
		f.stats.note(&accessPath{index: f.plan.allFields(), entries: c.filter}, "sort")
	case c.sorted && c.entries == nil:
		f.stats.note(&accessPath{index: AllDocs}, "sort")
	default:
		f.stats.note(&accessPath{index: c.index, entries: c.entries}, "order")
	}
}
