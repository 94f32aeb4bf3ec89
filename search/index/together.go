package index

import (
	"math"
	"math/bits"
	"slices"

	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

// Where many documents of a segment hold, they are counted as sets, a chunk of words at a time, and
// scored only where bounds by word say that they may be among the first ones.

// chunkWords is how many words of sets are looked at together: as many documents as there are
// postings between looks at the time.
const chunkWords = segment.PostingsBetweenChecks / 64

type chunk [chunkWords]uint64

// reach is what finding the documents of a part of a query as a set takes.
type reach struct {
	docs  int64 // about how many there are
	lists int64 // how many postings of terms that are not frequent are read
	few   bool  // nothing in it is frequent
}

// Bounds of a search by sets: fewer documents than a part of the segment are found one by one, and
// lists of postings are in memory.
const (
	// A search by sets looks at every word of the segment, so that it pays only where documents are
	// at least one of 256.
	leastShare  = 256
	bytesOfList = 8
	mostInLists = segment.MaxSetBytes / 4 / bytesOfList
)

// together is a weight whose documents can be found as a set.
type together interface {
	weight
	// reach: not ok if they cannot in this segment.
	reach(s *reading) (r reach, ok bool)
	// part is nil if no document holds; not ok if it cannot be a set after all.
	part(s *reading, scores bool) (p part, ok bool)
}

// part is a part of a query over a segment, by words of 64 documents. Chunks and documents are
// asked for in order.
type part interface {
	// fill reads a chunk, word what a word of it has: the i-th one, counted from the begin of the
	// segment.
	fill(i int)
	word(i int) uint64
	// bound is the best score of documents of a word of the chunk; 0 where there are none.
	bound(i int) float32
	// score is that of a document that holds.
	score(doc int32) float32
}

// frequentPart is a frequent term, or a phrase.
type frequentPart struct {
	of     *Frequent
	scorer *termScorer
}

func (p *frequentPart) fill(int)                {}
func (p *frequentPart) word(i int) uint64       { return p.of.docs.Words()[i] }
func (p *frequentPart) bound(i int) float32     { return p.scorer.bound(p.of.peaks[i]) }
func (p *frequentPart) score(doc int32) float32 { return p.scorer.score(float32(p.of.freq(doc)), doc) }

// listPart is a term with few documents.
type listPart struct {
	docs   []int32
	scores []float32 // nil: none are asked for
	at, i  int       // of the next chunk, and of the last score
	from   int
	words  chunk
	bounds [chunkWords]float32
}

// fill makes the bits of a chunk of documents from the list, with the best score of each word of 64
// documents. Chunks must be asked for in ascending order.
func (p *listPart) fill(i int) {
	p.from = i
	clear(p.words[:])
	clear(p.bounds[:])
	for end := int32(min((i+chunkWords)*64, segment.NoMore)); p.at < len(p.docs) && p.docs[p.at] < end; p.at++ {
		at := int(p.docs[p.at]) - i*64
		p.words[at>>6] |= 1 << (at & 63)
		if p.scores != nil {
			p.bounds[at>>6] = max(p.bounds[at>>6], p.scores[p.at])
		}
	}
}

func (p *listPart) word(i int) uint64 { return p.words[i-p.from] }

func (p *listPart) bound(i int) float32 { return p.bounds[i-p.from] }

func (p *listPart) score(doc int32) float32 {
	for p.docs[p.i] < doc {
		p.i++
	}
	return p.scores[p.i]
}

// reach is the number of documents with the term. It is not ok where nothing is kept of frequent
// words, or where scores would not grow with frequencies, so that bounds of scores would not hold.
func (w *termWeight) reach(s *reading) (r reach, ok bool) {
	k := s.keeper()
	if k == nil || !ascends(w.weight) {
		return r, false
	}
	n := s.frequency(w.field, w.term)
	r = reach{docs: int64(n)}
	if r.few = !k.Worth(n, s.Docs()); r.few {
		r.lists = r.docs
	}
	return r, true
}

// ascends reports whether scores with a weight ascend with frequencies and factors.
func ascends(weight float32) bool { return weight >= 0 && weight <= math.MaxFloat32 }

// part opens the term in a segment: as a kept set of bits if the word is frequent, else as a list
// of its documents, with their scores if they are needed. The list ends early if the run has spent
// its limit; the run's error tells.
func (w *termWeight) part(s *reading, scores bool) (part, bool) {
	postings, n := s.Term(s.run, w.field, w.term, false)
	if n == 0 {
		return nil, true
	}
	scorer := w.on(s)
	if s.keeper().Worth(n, s.Docs()) {
		f := w.frequent(s)
		return &frequentPart{f, scorer}, f != nil
	}
	p := &listPart{docs: make([]int32, 0, n)}
	if scores {
		p.scores = make([]float32, 0, n)
	}
	for doc := postings.Next(); doc != segment.NoMore && !s.run.Spent(1); doc = postings.Next() {
		if doc >= s.Docs() {
			break
		}
		p.docs = append(p.docs, doc)
		if scores {
			p.scores = append(p.scores, scorer.score(float32(postings.Freq()), doc))
		}
	}
	return p, true
}

// reach: phrases are found one document after the other, and kept. What they are found in is not.
func (w *phraseWeight) reach(s *reading) (r reach, ok bool) {
	k := s.keeper()
	if k == nil || !ascends(w.weight) || w.of.Slop > 0 {
		return r, false
	}
	r.docs = math.MaxInt32
	for i, t := range w.of.Terms {
		if i > 0 && t.Position == w.of.Terms[i-1].Position {
			return r, false
		}
		r.docs = min(r.docs, int64(s.frequency(w.field, t.Term)))
	}
	return r, r.docs*leastShare >= int64(s.Docs()) && k.Worth(s.Docs(), s.Docs())
}

// part takes the documents of a phrase as a set, where an earlier query has kept one. Not ok: there
// is none, and the phrase has to be found document by document.
func (w *phraseWeight) part(s *reading, _ bool) (part, bool) {
	f := w.frequent(s)
	if f == nil {
		return nil, false
	}
	if f.n == 0 {
		return nil, true
	}
	return &frequentPart{f, w.on(s)}, true
}

// boolPart is a Bool of which one optional clause has to hold at most.
type boolPart struct {
	required, prohibited []part
	optional             []part // of which one has to hold
	scoring              []part
	coord                []float32
	from                 int
	words                chunk
	// Memory of best, an element for each scoring clause.
	bounds []clauseBound
	all    []part
}

// clauseBound is a clause that scores, with what is known of it for a word.
type clauseBound struct {
	clause int
	bound  float32
	// The sum of the bounds that are not greater, this one's not among them.
	below float64
}

// reach says how many documents the clauses can find at most, to decide whether the lists are read
// together: as few as the rarest required clause, or as the sum of the optional ones where one of
// these has to hold. It is not ok if two or more optional clauses have to hold
// (minimum_should_match), which words of bits cannot count, if a clause cannot do it, or if the
// lists would have too many documents (mostInLists).
func (b *boolWeight) reach(s *reading) (r reach, ok bool) {
	if b.least > 1 {
		return r, false
	}
	r = reach{docs: math.MaxInt32, few: true}
	some := int64(0)
	for _, c := range b.clauses {
		w, ok := c.weight.(together)
		if !ok {
			return r, false
		}
		own, ok := w.reach(s)
		if !ok {
			return r, false
		}
		r.lists += own.lists
		r.few = r.few && own.few
		switch c.occur {
		case query.Should:
			some += own.docs
		case query.Must, query.Filter:
			r.docs = min(r.docs, own.docs)
		}
	}
	if !b.required() || b.least > 0 {
		r.docs = min(r.docs, some)
	}
	return r, r.lists <= mostInLists
}

func (b *boolWeight) required() bool { return b.has(query.Must) || b.has(query.Filter) }

// part opens the clauses in a segment, sorted by what they do to the documents: require, exclude,
// allow, score. The part is nil if no document can match, since a required clause, or all of the
// optional ones where one has to hold, finds nothing here.
func (b *boolWeight) part(s *reading, scores bool) (part, bool) {
	p := &boolPart{coord: b.coord}
	for _, c := range b.clauses {
		scores := scores && (c.occur == query.Must || c.occur == query.Should)
		own, ok := c.weight.(together).part(s, scores)
		if !ok {
			return nil, false
		}
		if own == nil {
			if c.occur == query.Must || c.occur == query.Filter {
				return nil, true
			}
			continue
		}
		p.all = append(p.all, own)
		switch c.occur {
		case query.Must, query.Filter:
			p.required = append(p.required, own)
		case query.MustNot:
			p.prohibited = append(p.prohibited, own)
		case query.Should:
			if !b.required() || b.least > 0 {
				p.optional = append(p.optional, own)
			}
		}
		if scores {
			p.scoring = append(p.scoring, own)
		}
	}
	if len(p.optional) == 0 && (!b.required() || b.least > 0) {
		return nil, true
	}
	p.bounds = make([]clauseBound, len(p.scoring))
	return p, true
}

func (p *boolPart) fill(i int) {
	p.from = i
	for _, c := range p.all {
		c.fill(i)
	}
}

func (p *boolPart) word(i int) uint64 { return p.words[i-p.from] }

// combine makes the words of the chunk up to an end, of those of the clauses.
func combine(root part, i, end int) {
	p, ok := root.(*boolPart)
	if !ok {
		return
	}
	for _, c := range p.all {
		combine(c, i, end)
	}
	words := p.words[:end-i]
	for j := range words {
		// Sixty-four documents at a time: all are in it, then clauses take them out.
		w := ^uint64(0)
		if len(p.optional) > 0 {
			w = 0
			for _, c := range p.optional {
				w |= c.word(i + j)
			}
		}
		for _, c := range p.required {
			w &= c.word(i + j)
		}
		for _, c := range p.prohibited {
			w &^= c.word(i + j)
		}
		words[j] = w
	}
}

// bound is the best score that a document of a word can have: the sum of the clauses' bounds. A
// word whose bound is below the worst hit so far is skipped.
func (p *boolPart) bound(i int) float32 {
	sum, held := 0.0, 0
	if p.word(i) == 0 {
		return 0
	}
	for _, c := range p.scoring {
		if c.word(i) != 0 {
			sum += float64(c.bound(i))
			held++
		}
	}
	return coordinate(sum, held, p.coord)
}

// score adds up the clauses that hold for the document, in their order, as boolScorer does: both
// ways give equal scores.
func (p *boolPart) score(doc int32) float32 {
	sum, held := 0.0, 0
	for _, c := range p.scoring {
		if c.word(int(doc>>6))&(1<<(doc&63)) != 0 {
			sum += float64(c.score(doc))
			held++
		}
	}
	return coordinate(sum, held, p.coord)
}

// enough is a score that a document has to have, or to be better than.
type enough struct {
	score float32
	more  bool
}

func (e enough) not(score float32) bool { return score < e.score || e.more && score == e.score }

// rounding is more than what sums of bounds and scores differ by for their order.
const rounding = 1 + 1e-9

// best offers the documents of a word that may be good enough: clauses are looked at from that with
// the best bound on, and no longer than the others could still make up for it. all are the
// documents that hold.
func (p *boolPart) best(i int, all uint64, e enough, offer func(doc int32, score float32)) {
	n, sum := 0, 0.0
	for c, clause := range p.scoring {
		if clause.word(i) != 0 {
			p.bounds[n] = clauseBound{clause: c, bound: clause.bound(i)}
			sum += float64(p.bounds[n].bound)
			n++
		}
	}
	// Even a document with all clauses at their best would not be good enough.
	if e.not(coordinate(sum*rounding, n, p.coord)) {
		return
	}
	bounds := p.bounds[:n]
	slices.SortFunc(bounds, func(a, b clauseBound) int {
		switch {
		case a.bound < b.bound:
			return -1
		case a.bound > b.bound:
			return 1
		}
		return a.clause - b.clause
	})
	// Documents that have none of the better clauses are not good enough.
	below, essential := 0.0, uint64(0)
	for j := range bounds {
		bounds[j].below = below
		below += float64(bounds[j].bound)
		// With this clause and all that are worse a document could be good enough. What it then
		// needs is to have this one or a better one: documents with only worse clauses are left
		// out.
		if !e.not(coordinate(below*rounding, n, p.coord)) {
			essential |= p.scoring[bounds[j].clause].word(i)
		}
	}
	if e.not(coordinate(0, 0, p.coord)) {
		all &= essential
	}
	all = p.narrow(i, all, bounds, e)
	for ; all != 0; all &= all - 1 {
		doc := int32(i<<6 + bits.TrailingZeros64(all))
		if score, ok := p.scoreOf(doc, bounds, e); ok {
			offer(doc, score)
		}
	}
}

// Bounds of narrow: clauses, and frequencies that are tried.
const (
	mostNarrowed = 8
	mostTried    = 8
)

// narrow leaves documents out that have a clause too seldom, whatever the others add.
func (p *boolPart) narrow(i int, all uint64, bounds []clauseBound, e enough) uint64 {
	if len(bounds) > mostNarrowed {
		return all
	}
	for j := len(bounds) - 1; j >= 0 && all != 0; j-- {
		c, ok := p.scoring[bounds[j].clause].(*frequentPart)
		if !ok {
			continue
		}
		others := 0.0
		for k := range bounds {
			if k != j {
				others += float64(bounds[k].bound)
			}
		}
		enough := func(score float32) bool {
			return !e.not(coordinate((others+float64(score))*rounding, len(bounds), p.coord))
		}
		if enough(0) {
			continue
		}
		// That many are enough, and it is looked for whether less are.
		peak := c.of.peaks[i]
		freq, factor := peak.freq, c.scorer.factors[c.scorer.kind.BetterNorm(peak.norm, peak.lessNorm)]
		tries := 0
		for ; freq > 1 && tries < mostTried && enough(c.scorer.of(float32(freq-1), factor)); tries++ {
			freq--
		}
		if freq > 1 && tries < mostTried {
			all = c.of.atLeast(i, all, freq)
		} else {
			all &= c.word(i)
		}
	}
	return all
}

// scoreOf is the score of a document; not ok if it is not good enough.
func (p *boolPart) scoreOf(doc int32, bounds []clauseBound, e enough) (float32, bool) {
	bit, sum := uint64(1)<<(doc&63), 0.0
	// From the best clause to the worst: what the rest can still add shrinks, and the document is
	// given up as soon as it is not enough.
	for j := len(bounds) - 1; j >= 0; j-- {
		b := &bounds[j]
		if e.not(coordinate((sum+b.below+float64(b.bound))*rounding, len(bounds), p.coord)) {
			return 0, false
		}
		c := p.scoring[b.clause]
		if c.word(int(doc>>6))&bit != 0 {
			sum += float64(c.score(doc))
		}
	}
	// The sum above is in the order of the bounds and may differ in its last bits; the score that
	// is told is added up in the order of the clauses.
	return p.score(doc), true
}

// bySets finds the documents of a query in a segment by sets: it counts them, and offers those that
// may be among the first ones. false if they are to be found one by one.
func bySets(s *reading, w weight, t *top) (total int64, ok bool) {
	q, ok := w.(together)
	if !ok {
		return 0, false
	}
	r, ok := q.reach(s)
	if !ok || r.few || r.docs*leastShare < int64(s.Docs()) || s.run.Err() != nil {
		return 0, false
	}
	p, ok := q.part(s, t.limit > 0)
	if !ok || p == nil {
		return 0, ok || s.run.Err() != nil
	}
	t.enter(s)
	b, _ := p.(*boolPart)
	offer := func(doc int32, score float32) {
		s.run.Spent(1)
		t.offer(doc, score)
	}
	live, words := s.Live(), (int(s.Docs())+63)/64
	for from := 0; from < words && !s.run.Spent(64*chunkWords); from += chunkWords {
		end := min(from+chunkWords, words)
		p.fill(from)
		combine(p, from, end)
		for i := from; i < end; i++ {
			all := p.word(i)
			if live != nil {
				all &= live.Words()[i]
			}
			if all == 0 {
				continue
			}
			total += int64(bits.OnesCount64(all))
			if t.limit <= 0 {
				continue
			}
			if e := t.enough(); b != nil {
				b.best(i, all, e, offer)
			} else if !e.not(p.bound(i)) {
				for ; all != 0; all &= all - 1 {
					doc := int32(i<<6 + bits.TrailingZeros64(all))
					offer(doc, p.score(doc))
				}
			}
		}
	}
	return total, true
}

// enough is the score that a document must have to be among the first ones.
func (t *top) enough() enough {
	if len(t.heap.entries) < t.limit {
		return enough{score: float32(math.Inf(-1))}
	}
	// Equal ones that come later in the index come behind, unless there is more to sort by.
	return enough{float32(t.heap.entries[0].values[0].Number), len(t.sort) == 1}
}
