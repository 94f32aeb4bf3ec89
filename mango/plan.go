package mango

import (
	"cmp"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/mango/selector"
)

// Plan is how a request is answered: which index is read, and what of it.
type Plan struct {
	req   *Request
	index *Index // nil only in plans for _explain: no index can be used
	// What the selector says of the leading columns of index, one range each.
	ranges      []selector.FieldRange
	partitioned bool      // the database is
	from        *bookmark // nil for the first page
	limit       number    // of documents
	text        *textPlan // where the index is one of full-text search
	// What led to it.
	candidates []candidate
	ranked     [kinds][]ranked // the indexes of each kind, best first
	unindexed  bool            // there was no index to choose
}

// candidate is an index of the database with how far it came.
type candidate struct {
	index  *Index
	scope  bool   // it is in the scope of the query
	global bool   // it holds all documents, or the query names it
	reason string // why it is not usable, "" if it is
	chosen bool   // it is left after use_index
}

func (c *candidate) usable() bool { return c.scope && c.global && c.reason == "" }

// ranked is an index with the ranges of its leading columns.
type ranked struct {
	index    *Index
	prefix   []selector.FieldRange
	distance int // fields with a range that are not in the prefix
}

// NewPlan chooses the index for a request among those of the database, AllDocs included, as CouchDB
// does (mango_cursor:create/4). Where there is an index over all fields another one may be read in
// the end: see choose.go. With a bookmark it is the index that the pages before came from. With
// explain a plan without an index is no error, and bookmarks do not count.
func NewPlan(req *Request, indexes []*Index, partitionedDB, explain bool) (*Plan, error) {
	p := &Plan{req: req, partitioned: partitionedDB, limit: req.limit}
	usable := 0
	for _, ix := range indexes {
		c := candidate{index: ix, global: !ix.Filter || ix.belongs(req.UseIndex)}
		// An index that is partitioned serves only queries of one partition, the others only those
		// of all.
		c.scope = ix.Kind == KindAllDocs || ix.Partitioned == (req.Partition != "")
		if c.scope && c.global {
			c.reason = ix.unusable(req.Selector, req.Sort.Fields)
		}
		if c.usable() {
			usable++
		}
		p.candidates = append(p.candidates, c)
	}
	// Only a sort can leave nothing: without one _all_docs is always usable.
	if usable == 0 && !explain {
		return nil, p.sortError()
	}
	if err := p.obeyUser(usable); err != nil {
		return nil, err
	}
	p.choose()
	if p.index != nil && p.index.Kind.IsText() {
		// Between text indexes CouchDB does not choose; use_index has to name one.
		if len(p.ofKind()) > 1 {
			return nil, errSeveralTextIndexes(p.index.Kind)
		}
		if err := p.readTextPlan(); err != nil {
			return nil, err
		}
	}
	if explain || req.Bookmark == "" {
		return p, nil
	}
	return p, p.goOn()
}

// goOn takes the index that the bookmark is from. If there is none any more, or it has changed, its
// order cannot be known. Where there is nothing to read, nobody looks at the bookmark.
func (p *Plan) goOn() (err error) {
	if p.Nothing() {
		return nil
	}
	if p.from, err = parseBookmark(p.req.Bookmark); err != nil {
		return err
	}
	// Indexes that use_index excludes are asked too: the order of the page before is what counts.
	for _, c := range p.candidates {
		if c.usable() && p.from.isFrom(c.index) {
			p.use(c.index)
			if p.text = nil; p.index.Kind.IsText() {
				return p.readTextPlan()
			}
			return nil
		}
	}
	return errBookmark(p.req.Bookmark)
}

// sortError is CouchDB's refusal of a sort that no index has.
func (p *Plan) sortError() error {
	scope := ""
	switch {
	case p.partitioned && p.req.Partition != "":
		scope = "partitioned "
	case p.partitioned:
		scope = "global "
	}
	return compat.Named(compat.KindBadRequest, "no_usable_index",
		"No "+scope+"index exists for this sort, try indexing by the sort fields.")
}

// obeyUser leaves the usable indexes that use_index names, or all if it names none and the request
// may fall back.
func (p *Plan) obeyUser(usable int) error {
	named := func(c *candidate) bool { return c.usable() && c.index.belongs(p.req.UseIndex) }
	use := p.req.UseIndex
	if !slices.ContainsFunc(p.candidates, func(c candidate) bool { return named(&c) }) {
		// Without a named index, falling back means taking _all_docs: with only that usable the
		// request is refused too.
		if !p.req.AllowFallback && (len(use) > 0 || usable < 2) {
			return errInvalidIndex(use)
		}
		named = (*candidate).usable
	}
	for i := range p.candidates {
		c := &p.candidates[i]
		c.chosen = named(c)
	}
	return nil
}

func errInvalidIndex(use []string) error {
	reason := "You must specify an index with the `use_index` parameter."
	if len(use) > 0 {
		reason = indexName(use) + " specified by `use_index` could not be found or it is not suitable."
	}
	return compat.Named(compat.KindBadRequest, "invalid_index", reason)
}

// indexName is use_index as messages have it.
func indexName(use []string) string {
	name := DesignID(use[0])
	if len(use) == 2 {
		name += ", " + use[1]
	}
	return name
}

// choose ranks the indexes of each kind: fewest ranges that it cannot use, fewest columns, first by
// name (mango_cursor_view:choose_best_index/1). The best one of the preferred kind is taken.
func (p *Plan) choose() {
	ranges := p.req.Selector.Ranges()
	for _, c := range p.candidates {
		if c.chosen {
			list := &p.ranked[c.index.Kind]
			*list = append(*list, rank(c.index, ranges))
		}
	}
	// Kinds are in the order of preference, and the first that has an index gives it.
	for _, list := range p.ranked {
		slices.SortStableFunc(list, func(a, b ranked) int {
			return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(len(a.index.Columns), len(b.index.Columns)),
				compareIndexes(a.index, b.index))
		})
		if len(list) > 0 && p.index == nil {
			p.index, p.ranges = list[0].index, list[0].prefix
		}
	}
	if all := p.best(KindAllDocs); all != nil && p.index.Kind == KindAllFields && len(p.req.Sort.Fields) > 0 {
		p.use(all) // a sort by id, which is the order of the documents
	}
	p.unindexed = p.index != nil && p.index.Kind == KindAllDocs
}

// use takes an index of the candidates.
func (p *Plan) use(ix *Index) {
	p.index, p.ranges = ix, rank(ix, p.req.Selector.Ranges()).prefix
}

// best is the index of a kind that is preferred, nil if there is none.
func (p *Plan) best(k Kind) *Index {
	if len(p.ranked[k]) == 0 {
		return nil
	}
	return p.ranked[k][0].index
}

// rank tells how well an index serves a selector: by how many of its first columns the selector has
// ranges for, and how many ranges it leaves unused. CouchDB chooses by these
// (mango_cursor_view:choose_best_index/1).
func rank(ix *Index, ranges []selector.FieldRange) ranked {
	r := ranked{index: ix}
	for _, column := range ix.Columns {
		// The prefix ends at the first column without a range: rows behind it are not together in
		// the index.
		i := slices.IndexFunc(ranges, func(f selector.FieldRange) bool { return f.Field == column })
		if i < 0 {
			break
		}
		r.prefix = append(r.prefix, ranges[i])
	}
	r.distance = len(ranges) - len(r.prefix)
	return r
}

// Nothing reports whether the answer is empty whatever documents there are
// (mango_cursor:maybe_noop_range/2).
func (p *Plan) Nothing() bool {
	if p.text != nil {
		return false
	}
	// An $and or $or of nothing at the top matches no document.
	if root := p.req.Selector.Root; root != nil && len(root.Kids) == 0 &&
		(root.Op == selector.OpAnd || root.Op == selector.OpOr) {
		return true
	}
	return slices.ContainsFunc(p.ranges, func(r selector.FieldRange) bool { return r.Impossible() })
}

// Index is the index that is read.
func (p *Plan) Index() *Index { return p.index }

// covers reports whether an index has all of some fields (mango_idx_view:covers/2); all of a
// document it never has.
func (ix *Index) covers(fields *selector.Fields, more []string) bool {
	if ix.Kind != KindJSON || fields.All() {
		return false
	}
	has := func(name string) bool { return name == "_id" || slices.Contains(ix.Columns, name) }
	for i := range fields.Paths {
		if fields.Paths[i].Object != nil || !has(fields.Paths[i].Name) {
			return false
		}
	}
	for _, name := range more {
		if !has(name) {
			return false
		}
	}
	return true
}

// Covering reports whether the index alone answers the query, without the documents.
func (p *Plan) Covering() bool { return p.index.covers(p.req.Fields, p.req.Selector.Fields()) }

// FieldsOf are the names of the fields that the selector has conditions on (selector.Selector.Fields).
func FieldsOf(p *Plan) []string { return p.req.Selector.Fields() }

// WantsStats reports whether the answer shows what the query cost.
func (p *Plan) WantsStats() bool { return p.req.ExecutionStats }

// WantsCount reports whether the answer has the number of all documents that pass.
func (p *Plan) WantsCount() bool { return p.req.Count }
