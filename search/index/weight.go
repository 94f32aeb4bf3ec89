package index

import (
	"math"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

// Error is an error of a query that was understood and cannot be answered; its text is the search
// server's.
type Error struct{ text string }

func (e *Error) Error() string { return e.text }

// weight is a part of a query, with everything that its score depends on except the document. It
// makes iterators over segments; nil is one for no document.
type weight interface {
	// squares and normalize are TF-IDF's query norm: the sum of the squares of the weights, and
	// what they are multiplied by. BM25 has no use for them.
	squares() float32
	normalize(norm, boost float32)
	iterator(s *reading, scores bool) iterator
}

// reading is a segment in the course of a search.
type reading struct {
	segment.Segment
	run   *segment.Run
	place int // among the segments
	// Terms that were looked up, so that planning and reading do it once together.
	terms map[fieldTerm]segment.TermEntry
	docs  *segment.DocumentReader // of blocks, once it is asked for
}

// documents reads documents of a segment of blocks; nil for others.
func (r *reading) documents() *segment.DocumentReader {
	if blocks, ok := r.Segment.(*segment.BlockSegment); ok && r.docs == nil {
		r.docs = blocks.Documents(r.run)
	}
	return r.docs
}

// name is the id and the identity of a document.
func (r *reading) name(doc int32) (string, segment.Identity) {
	if d := r.documents(); d != nil {
		return d.Name(doc)
	}
	return r.ID(r.run, doc), r.Identity(r.run, doc)
}

type fieldTerm struct{ field, term string }

// entry looks a term of a segment of blocks up, once in a search.
func (r *reading) entry(blocks *segment.BlockSegment, field, term string) segment.TermEntry {
	key := fieldTerm{field, term}
	e, known := r.terms[key]
	if !known {
		e = blocks.Lookup(r.run, field, term)
		if r.terms == nil {
			r.terms = map[fieldTerm]segment.TermEntry{}
		}
		r.terms[key] = e
	}
	return e
}

// Term are the documents with a term.
func (r *reading) Term(run *segment.Run, field, term string, positions bool) (segment.Postings, int32) {
	blocks, ok := r.Segment.(*segment.BlockSegment)
	if !ok {
		return r.Segment.Term(run, field, term, positions)
	}
	e := r.entry(blocks, field, term)
	if e.Docs == 0 {
		return nil, 0
	}
	return blocks.Open(run, field, &e, positions), e.Docs
}

// frequency is how many documents have a term.
func (r *reading) frequency(field, term string) int32 {
	if blocks, ok := r.Segment.(*segment.BlockSegment); ok {
		return r.entry(blocks, field, term).Docs
	}
	_, n := r.Segment.Term(r.run, field, term, false)
	return n
}

// planner makes weights of a query.
type planner struct {
	kind     segment.Kind
	run      *segment.Run
	segments []*reading
	docs     int64 // in all segments
	factors  map[string]*[256]float32
}

// plan makes the weight of a node. boost is the product of the boosts around it. What is left after
// the switch gives all of its documents one score, as Lucene rewrites ranges, prefixes and
// patterns.
func (p *planner) plan(n query.Node, boost float32) weight {
	switch n := n.(type) {
	case *query.Boost:
		return p.plan(n.Node, boost*n.Factor)
	case *query.Term:
		return p.term(n.Field, n.Term, boost)
	case *query.Phrase:
		return p.phrase(n, boost)
	case *query.Bool:
		return p.bool(n, boost)
	case *query.Fuzzy:
		return p.fuzzy(n, boost)
	case *query.Intervals:
		return p.intervals(n, boost)
	case *query.Number:
		if p.kind == segment.Clouseau {
			return p.number(n, boost)
		}
	}
	return &constantWeight{boost: boost, kind: p.kind, open: p.filter(n)}
}

// collection gives the statistics that scores of a field depend on: how many documents count, and
// the average length.
func (p *planner) collection(field string) (docs int64, average float32) {
	var length int64
	for _, s := range p.segments {
		info, _ := s.Field(field)
		docs += int64(info.Docs)
		length += info.Length
	}
	if docs > 0 {
		average = float32(float64(length) / float64(docs))
	}
	// Lucene 4 counts all documents for the idf, Lucene 9 those that have the field.
	if p.kind == segment.Clouseau {
		docs = p.docs
	}
	return docs, average
}

// scoring makes scorers of a field for one weight.
type scoring struct {
	kind    segment.Kind
	field   string
	boost   float32 // TF-IDF: the weight of the query
	idf     float32
	weight  float32
	factors *[256]float32
	missing float32
}

// scoring gives the numbers that turn frequencies into scores: the idf and boost of a term, and
// factors by norm and frequency, by TF-IDF for Clouseau and BM25 for Nouveau, whose factors depend
// on the field's average length and are shared by the terms of a field.
func (p *planner) scoring(field string, boost, idf float32) *scoring {
	s := &scoring{kind: p.kind, field: field, idf: idf, boost: boost * idf, weight: boost * idf, factors: tfFactors,
		missing: 1}
	if p.kind == segment.Nouveau {
		_, average := p.collection(field)
		if p.factors[field] == nil {
			p.factors[field] = bm25Factors(average)
		}
		s.factors, s.missing = p.factors[field], bm25Factor(1, average)
	}
	return s
}

func (s *scoring) squares() float32 { return s.boost * s.boost }

func (s *scoring) normalize(norm, boost float32) {
	s.boost *= norm * boost
	s.weight = s.boost * s.idf
}

// on is the scorer for the documents of one segment. Norms of a stored segment are read in blocks, as
// far as the documents that match need them; a segment in memory has them all at hand.
func (s *scoring) on(r *reading) *termScorer {
	t := &termScorer{kind: s.kind, weight: s.weight, factors: s.factors, missing: s.missing}
	if blocks, ok := r.Segment.(*segment.BlockSegment); ok {
		t.read = blocks.NormReader(r.run, s.field)
	} else {
		t.norms = r.Norms(r.run, s.field)
	}
	return t
}

// termWeight is a term.
type termWeight struct {
	*scoring
	term string
}

func (p *planner) term(field, term string, boost float32) weight {
	docs, _ := p.collection(field)
	return &termWeight{p.scoring(field, boost, idf(p.kind, p.frequency(field, term), docs)), term}
}

// frequency is how many documents have a term.
func (p *planner) frequency(field, term string) int64 {
	sum := int64(0)
	for _, s := range p.segments {
		sum += int64(s.frequency(field, term))
	}
	return sum
}

// iterator opens the postings of the term in a segment, nil if it is not there. A set of a frequent
// term, if one is kept, is looked up only when the iterator is told to jump.
func (w *termWeight) iterator(s *reading, scores bool) iterator {
	postings, n := s.Term(s.run, w.field, w.term, false)
	if n == 0 {
		return nil
	}
	t := &termIterator{run: s.run, postings: postings, docs: n}
	if k := s.keeper(); k != nil && k.Worth(n, s.Docs()) {
		t.kept = func() *Frequent { return k.Kept(w.keptName()).known() }
	}
	if scores {
		t.scorer = w.on(s)
	}
	return t
}

// numberWeight is a number in Clouseau's kind of index, where it is a term.
type numberWeight struct {
	*scoring
	value float64
}

// number plans a number in Clouseau's kind, which Lucene 4 scores like a term: its documents have
// to be counted first for the idf.
func (p *planner) number(n *query.Number, boost float32) weight {
	w := &numberWeight{scoring: &scoring{field: n.Field}, value: n.Value}
	docs := int64(0)
	for _, s := range p.segments {
		if i := w.open(s); i != nil {
			for i.next() != segment.NoMore {
				docs++
			}
		}
	}
	w.scoring = p.scoring(n.Field, boost, idf(p.kind, docs, p.docs))
	return w
}

// open looks at the numbers of each document, in the column of the field; nil if the segment has
// none.
func (w *numberWeight) open(s *reading) *checkIterator {
	column := s.Numbers(s.run, w.field)
	if column == nil {
		return nil
	}
	return &checkIterator{run: s.run, at: -1, n: s.Docs(), check: func(doc int32) bool {
		return slices.Contains(column.Numbers(doc), w.value)
	}}
}

func (w *numberWeight) iterator(s *reading, _ bool) iterator {
	i := w.open(s)
	if i == nil {
		return nil
	}
	i.scorer = &termScorer{kind: w.kind, weight: w.weight, factors: w.factors, missing: 1}
	return i
}

// phraseWeight is a phrase.
type phraseWeight struct {
	*scoring
	of *query.Phrase
}

// phrase plans a phrase, whose idf is the sum of its terms'. A field that was indexed without
// positions fails the query, with Lucene's text.
func (p *planner) phrase(n *query.Phrase, boost float32) weight {
	docs, _ := p.collection(n.Field)
	sum := float32(0)
	for _, t := range n.Terms {
		sum += idf(p.kind, p.frequency(n.Field, t.Term), docs)
	}
	for _, s := range p.segments {
		if info, ok := s.Field(n.Field); ok && info.Docs > 0 && !info.Positions {
			p.run.Fail(&Error{`field "` + n.Field + `" was indexed without position data; ` +
				`cannot run PhraseQuery (phrase=` + printPhrase(n) + ")"})
			break
		}
	}
	return &phraseWeight{p.scoring(n.Field, boost, sum), n}
}

func printPhrase(n *query.Phrase) string {
	terms := make([]string, len(n.Terms))
	for i, t := range n.Terms {
		terms[i] = t.Term
	}
	return n.Field + `:"` + strings.Join(terms, " ") + `"`
}

// iterator opens the terms of the phrase in a segment; terms at one position (synonyms) are one
// part. It is nil as soon as one position has no term here. The parts are kept twice: in their
// order for the positions, and by the number of their documents, so that the rarest decides which
// documents are looked at. packed says that all parts are plain lists of blocks, whose positions
// are compared without unpacking them (meet); repeat and mixed say that one occurrence might be
// counted for two parts.
func (w *phraseWeight) iterator(s *reading, scores bool) iterator {
	p := &phraseIterator{run: s.run, slop: int32(min(w.of.Slop, math.MaxInt32)), at: -1, packed: true}
	seen := map[string]bool{}
	terms := w.of.Terms
	for i := 0; i < len(terms); {
		j := i + 1
		for j < len(terms) && terms[j].Position == terms[i].Position {
			j++
		}
		part := phrasePartOf(s, w.field, terms[i:j])
		if part == nil {
			return nil
		}
		for _, t := range terms[i:j] {
			p.repeat = p.repeat || seen[t.Term]
			seen[t.Term] = true
		}
		p.mixed = p.mixed || j > i+1
		p.packed = p.packed && part.blocks != nil
		p.parts = append(p.parts, part)
		i = j
	}
	p.byCost = slices.Clone(p.parts)
	slices.SortStableFunc(p.byCost, func(a, b *phrasePart) int { return int(a.docs - b.docs) })
	if scores {
		p.scorer = w.on(s)
	}
	return p
}

// phrasePartOf is one position of a phrase in a segment; nil if no document has it.
func phrasePartOf(s *reading, field string, terms []query.PhraseTerm) *phrasePart {
	part := &phrasePart{offset: int32(terms[0].Position)}
	var all []segment.Postings
	for _, t := range terms {
		if postings, n := s.Term(s.run, field, t.Term, true); n > 0 {
			all = append(all, postings)
			part.docs += n
		}
	}
	switch {
	case len(all) == 0:
		return nil
	case len(terms) == 1:
		part.Postings = all[0]
		part.blocks, _ = all[0].(*segment.BlockPostings)
	default:
		part.Postings = &alternatives{all: all, at: -1}
	}
	return part
}

// constantWeight is a part whose documents all have one score.
type constantWeight struct {
	kind  segment.Kind
	boost float32
	open  func(s *reading, value float32) iterator
}

func (w *constantWeight) squares() float32              { return w.boost * w.boost }
func (w *constantWeight) normalize(norm, boost float32) { w.boost *= norm * boost }
func (w *constantWeight) iterator(s *reading, _ bool) iterator {
	if w.open == nil {
		return nil
	}
	return w.open(s, w.boost)
}

// most terms that a fuzzy word becomes, as Lucene's.
const mostFuzzyTerms = 50

type fuzzyTerm struct {
	term  string
	boost float32
}

// fuzzy makes a disjunction of the terms that are nearest to a word.
func (p *planner) fuzzy(n *query.Fuzzy, boost float32) weight {
	length, edits := utf8.RuneCountInString(n.Text), fuzzyEdits(n)
	found, states := map[string]float32{}, p.run.States
	for _, s := range p.segments {
		p.run.States = states // those of the segment before are gone
		a, terms := newLevenshtein(p.run, n.Text, edits), s.Terms(p.run, n.Field)
		walk(p.run, terms, a, func(state int32) {
			similarity := float32(1)
			if d := a.distance(state); d > 0 {
				similarity = 1 - float32(d)/float32(min(length, utf8.RuneCountInString(terms.Term())))
			}
			if similarity > 0 {
				found[strings.Clone(terms.Term())] = similarity
			}
		})
	}
	p.run.States = states
	all := make([]fuzzyTerm, 0, len(found))
	for term, similarity := range found {
		all = append(all, fuzzyTerm{term, similarity})
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].boost != all[j].boost {
			return all[i].boost > all[j].boost
		}
		return all[i].term < all[j].term
	})
	return p.fuzzyTerms(n.Field, all[:min(len(all), mostFuzzyTerms)], boost)
}

// longestFuzzy bounds the rows of the table of distances; a longer word is looked up as it is.
const longestFuzzy = 255

func fuzzyEdits(n *query.Fuzzy) int {
	length := utf8.RuneCountInString(n.Text)
	if length > longestFuzzy {
		return 0
	}
	return n.MaxEdits(length)
}

// fuzzyTerms: with BM25 all the terms are as frequent as the most frequent one, so that rare
// misspellings do not win.
func (p *planner) fuzzyTerms(field string, terms []fuzzyTerm, boost float32) weight {
	docs, _ := p.collection(field)
	most := int64(0)
	for _, t := range terms {
		most = max(most, p.frequency(field, t.term))
	}
	b := &boolWeight{kind: p.kind, boost: 1}
	if p.kind == segment.Clouseau {
		b.boost, boost = boost, 1
	}
	for _, t := range terms {
		frequency := most
		if p.kind == segment.Clouseau {
			frequency = p.frequency(field, t.term)
		}
		w := &termWeight{p.scoring(field, boost*t.boost, idf(p.kind, frequency, docs)), t.term}
		b.clauses = append(b.clauses, clauseWeight{query.Should, w})
	}
	return b
}
