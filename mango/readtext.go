package mango

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/search/index"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage/docread"
)

// textPlan is what a plan has of a text index.
type textPlan struct {
	tree  *textNode
	query string // as CouchDB asks it
	sort  *textSort
}

// readTextPlan prepares a query of a text index, and bounds its limit as CouchDB does.
func (p *Plan) readTextPlan() (err error) {
	t := &textPlan{}
	if t.tree, err = textTree(p.req.Selector); err != nil {
		return err
	}
	if t.tree != nil {
		t.query = t.tree.query()
	}
	if t.sort, err = p.req.textSort(p.index.Kind); err != nil {
		return err
	}
	p.text = t
	if most := p.req.textLimits[p.index.Kind]; most > 0 && most < p.limit.n {
		p.limit = number{n: most, text: strconv.FormatInt(most, 10)}
	}
	return nil
}

// orderName names the order of the answer for bookmarks.
func (t *textPlan) orderName() string {
	return "text." + strconv.FormatUint(xxhash.Sum64(ejson.AppendStrings(nil, t.sort.names)), 36)
}

// How many hits are asked for at a time: the first time as many as the answer may need, then more
// and more, since each time the index is searched anew.
const (
	leastTextHits = 25
	mostTextHits  = 16_384
	keptTextIDs   = 100_000 // of documents that the answer has
)

// readText reads the hits of a text index (mango_cursor_text:execute/3).
func (f *finder) readText() error {
	p := f.plan
	if root := p.text.tree; len(root.kids) == 0 && (root.op == textAnd || root.op == textOr) {
		return nil // as other indexes answer a list of conditions that is empty
	}
	if f.src.Search == nil {
		return errNoTextIndexes(p.index.Kind)
	}
	f.quorum = false
	kind := p.index.Kind.SearchKind()
	def, err := f.src.Search.Lookup(f.ctx, f.src.DB, kind, p.index.DDoc, p.index.Name)
	if err != nil {
		return err
	}
	if p.req.Update && !p.req.StaleOK {
		if err := f.src.Search.Update(f.ctx, f.src.DB, def); err != nil {
			return err
		}
	}
	h := &textHits{finder: f, kind: kind, seen: map[string]bool{}, size: leastTextHits}
	if f.from != nil {
		if h.after, err = parseTextPosition(f.from.key); err != nil ||
			f.from.orderName() != p.text.orderName() {
			return errBookmark(p.req.Bookmark)
		}
	}
	if wanted := f.skip + f.limit; wanted > 0 && wanted < mostTextHits {
		h.size = max(h.size, int(wanted))
	}
	return f.src.Search.Search(f.ctx, f.src.DB, def, h.read)
}

// textHits goes through the hits of a query.
type textHits struct {
	*finder
	kind  segment.Kind
	after *index.After // the hit that was looked at last
	size  int
	seen  map[string]bool // documents that were given: a later snapshot may have them in another place
	key   []byte
}

// read goes on from the last hit in a snapshot; it is called again if that becomes too old.
func (h *textHits) read(ctx context.Context, s *search.Searcher) error {
	p := h.plan
	q := &textQuery{
		textDefinition: p.index.text, kind: h.kind, phrase: s.Phrase, collated: p.req.Selector.Collated,
	}
	request := index.Request{Query: q.over(p.text.tree), Sort: p.text.sort.fields}
	if q.err != nil {
		return q.err
	}
	if p.req.Partition != "" {
		request.Query = search.InPartition(request.Query, p.req.Partition)
	}
	for {
		request.Limit, request.After = h.size, h.after
		result, err := h.search(ctx, s, &request)
		if err != nil {
			return err
		}
		for hits := range slices.Chunk(result.Hits, docWindow) {
			if err := h.give(s, hits); err != nil {
				return err
			}
		}
		if len(result.Hits) < h.size {
			return nil
		}
		h.size = min(4*h.size, mostTextHits)
	}
}

// errTime is of a query of a text index that takes longer than search/timeout.
var errTime = compat.NewError(compat.KindTimeout,
	"The query took longer than [search] timeout allows.")

// search finds some hits, in the time that there is for it.
func (h *textHits) search(
	ctx context.Context, s *search.Searcher, request *index.Request,
) (*index.Result, error) {
	if h.src.SearchTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, h.src.SearchTime, errTime)
		defer cancel()
	}
	result, err := s.Search(ctx, request)
	var refused *index.Error
	if errors.As(err, &refused) {
		err = errTextSearch(h.plan.index.Kind, refused.Error())
	}
	return result, err
}

// give reads the documents of hits.
func (h *textHits) give(s *search.Searcher, hits []index.Hit) error {
	f := h.finder
	refs := make([]docread.DocRef, len(hits))
	for i := range hits {
		refs[i] = docread.DocRef{ID: hits[i].ID, Conflicts: f.showsConflicts(), Members: f.members}
	}
	return s.Snapshot.OpenEach(refs, func(i int, d *docread.Document) error {
		hit := &hits[i]
		h.after = &index.After{Values: hit.Sort, Identity: hit.Identity}
		if d == nil || h.seen[hit.ID] {
			return nil
		}
		given, limited := f.stats.Results, f.limit > 0
		h.key = appendTextPosition(h.key[:0], hit)
		if err := f.take(&found{id: []byte(hit.ID), key: h.key, doc: d}); err != nil {
			return err
		}
		if f.stats.Results > given && len(h.seen) < keptTextIDs {
			h.seen[hit.ID] = true
		}
		if limited && f.limit == 0 {
			return errEnough
		}
		return nil
	})
}

// appendTextPosition appends the position of a hit, for bookmarks: its sort values, and its
// identity in the index.
func appendTextPosition(dst []byte, hit *index.Hit) []byte {
	dst = append(dst, '[')
	for _, v := range hit.Sort {
		switch {
		case v.IsNull:
			dst = append(dst, "null"...)
		case v.IsText:
			dst = ejson.AppendString(dst, v.Text)
		default:
			dst = ejson.AppendFloat(dst, v.Number)
		}
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = base64.RawURLEncoding.AppendEncode(dst, []byte(hit.Identity))
	return append(dst, '"', ']')
}

// parseTextPosition reads a position that appendTextPosition wrote into a bookmark. Bookmarks come
// from clients, so an identity that is not base64 is an error.
func parseTextPosition(key ejson.Value) (*index.After, error) {
	after := &index.After{}
	var last ejson.Value
	n := key.Len()
	for v := range key.Elements() {
		if n--; n == 0 {
			last = v
			break
		}
		switch f, isNumber := v.Float(); {
		case isNumber:
			after.Values = append(after.Values, index.SortValue{Number: f})
		case v.Kind() == ejson.String:
			after.Values = append(after.Values, index.SortValue{Text: v.Text(), IsText: true})
		default:
			after.Values = append(after.Values, index.SortValue{IsNull: true})
		}
	}
	identity, err := base64.RawURLEncoding.DecodeString(last.Text())
	after.Identity = segment.Identity(identity)
	return after, err
}

// appendText appends what _explain tells of a query of a text index (mango_cursor_text:explain/1).
func (p *Plan) appendText(dst []byte) []byte {
	dst = ejson.AppendString(append(dst, `,"query":`...), p.text.query)
	dst = append(dst, `,"partition":`...)
	if p.req.Partition == "" {
		dst = append(dst, "null"...)
	} else {
		dst = ejson.AppendString(dst, p.req.Partition)
	}
	dst = append(dst, `,"sort":`...)
	switch {
	case len(p.text.sort.names) > 0:
		return ejson.AppendStrings(dst, p.text.sort.names)
	case p.index.Kind == KindNouveau:
		return append(dst, "null"...)
	}
	return append(dst, `"relevance"`...)
}
