package index

import (
	"slices"

	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

// clauseWeight is a clause of a Bool.
type clauseWeight struct {
	occur  query.Occur
	weight weight
}

// boolWeight is a Bool.
type boolWeight struct {
	kind    segment.Kind
	boost   float32 // TF-IDF: clauses are multiplied by it when they are normalized
	clauses []clauseWeight
	// How many of the optional clauses have to match (minimum_should_match).
	least int
	// By how many scoring clauses match, what the sum is multiplied by; nil: nothing is (Lucene 9,
	// or a single clause).
	coord []float32
}

// bool plans the clauses. Lucene 4 (Clouseau) applies the boost of a group to the group's sum and
// rewards documents for the share of the clauses that match (coord); Lucene 9 multiplies the boosts
// into the clauses and has no coord.
func (p *planner) bool(n *query.Bool, boost float32) weight {
	b := &boolWeight{kind: p.kind, boost: 1, least: n.Min}
	if p.kind == segment.Clouseau {
		b.boost, boost = boost, 1
	}
	scoring := 0
	for _, c := range n.Clauses {
		b.clauses = append(b.clauses, clauseWeight{c.Occur, p.plan(c.Node, boost)})
		if c.Occur == query.Should || c.Occur == query.Must {
			scoring++
		}
	}
	if p.kind == segment.Clouseau && !n.NoCoord && scoring > 1 {
		b.coord = coordFactors(scoring)
	}
	return b
}

// squares is the part of the clauses in the norm of the query. Clauses that only filter have no score
// and no part in it.
func (b *boolWeight) squares() float32 {
	sum := float32(0)
	for _, c := range b.clauses {
		if c.occur == query.Should || c.occur == query.Must {
			sum += c.weight.squares()
		}
	}
	return sum * b.boost * b.boost
}

func (b *boolWeight) normalize(norm, boost float32) {
	for _, c := range b.clauses {
		c.weight.normalize(norm, boost*b.boost)
	}
}

// open opens the clauses of some kinds in a segment; missing reports that a clause matches no
// document there.
func (b *boolWeight) open(s *reading, scores bool, kinds ...query.Occur) (all []iterator, missing bool) {
	for _, c := range b.clauses {
		if !slices.Contains(kinds, c.occur) {
			continue
		}
		if i := c.weight.iterator(s, scores); i != nil {
			all = append(all, i)
		} else {
			missing = true
		}
	}
	return all, missing
}

func (b *boolWeight) has(kind query.Occur) bool {
	return slices.ContainsFunc(b.clauses, func(c clauseWeight) bool { return c.occur == kind })
}

// iterator opens the clauses in a segment: a disjunction where nothing is required, else a
// conjunction of the required clauses that the optional ones only add scores to. nil: no document
// of the segment matches.
func (b *boolWeight) iterator(s *reading, scores bool) iterator {
	prohibited, _ := b.open(s, false, query.MustNot)
	if !b.has(query.Must) && !b.has(query.Filter) {
		parts, _ := b.open(s, scores, query.Should)
		// A clause that matches nothing in this segment cannot be one of those that have to.
		if len(parts) < max(b.least, 1) {
			return nil
		}
		if len(parts) == 1 && len(prohibited) == 0 && b.coord == nil {
			return parts[0]
		}
		return newDisjunction(s.run, parts, prohibited, b.least, scores, b.coord)
	}
	// What holds and what scores are apart: optional clauses score and need not hold, filters hold
	// and do not score.
	filters, missing := b.open(s, false, query.Filter)
	required, missingRequired := b.open(s, scores, query.Must)
	if missing || missingRequired {
		return nil
	}
	parts := append(filters, required...)
	if b.least > 0 {
		some, _ := b.open(s, false, query.Should)
		if len(some) < b.least {
			return nil
		}
		parts = append(parts, newDisjunction(s.run, some, nil, b.least, false, nil))
	}
	c := &conjunction{parts: parts, prohibited: prohibited, at: -1, bool: &boolScorer{at: -1, coord: b.coord}}
	if scores {
		c.bool.clauses = b.scorers(s, required)
	}
	// The rarest clause leads, and the others only jump to its documents.
	slices.SortStableFunc(c.parts, func(a, b iterator) int { return int(a.cost() - b.cost()) })
	for _, i := range slices.Concat(c.parts[1:], prohibited) {
		if t, ok := i.(*termIterator); ok {
			t.jump()
		}
	}
	return c
}

// scorers are the clauses that score, in their order: the required ones, which are open, and the
// optional ones.
func (b *boolWeight) scorers(s *reading, required []iterator) []iterator {
	var all []iterator
	for _, c := range b.clauses {
		switch c.occur {
		case query.Must:
			all, required = append(all, required[0]), required[1:]
		case query.Should:
			if i := c.weight.iterator(s, true); i != nil {
				all = append(all, i)
			}
		}
	}
	return all
}
