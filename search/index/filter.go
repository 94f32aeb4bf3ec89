package index

import (
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

// filter opens the documents of a part that all have one score; nil if there are none.
func (p *planner) filter(n query.Node) func(s *reading, value float32) iterator {
	switch n := n.(type) {
	case *query.All:
		return func(s *reading, value float32) iterator {
			return &checkIterator{run: s.run, at: -1, n: s.Docs(), value: value}
		}
	case *query.NumRange:
		return numbersBetween(n)
	case *query.Number:
		return numbersBetween(&query.NumRange{Field: n.Field, Min: n.Value, Max: n.Value, MinInclude: true,
			MaxInclude: true})
	case *query.Range:
		if p.kind == segment.Nouveau && n.LowerOpen && n.UpperOpen {
			// It holds for a field that has anything.
			return either(between(n), numbersThat(n.Field, func(float64) bool { return true }))
		}
		return p.orNumbers(n.Field, between(n), rangeTest(n))
	case *query.Prefix:
		return p.orNumbers(n.Field, collect(n.Field, func(s *reading, terms segment.Terms, add func()) {
			// Terms are sorted, so that those of a prefix are together.
			for ok := terms.Seek(n.Text); ok && strings.HasPrefix(terms.Term(), n.Text); ok = terms.Next() {
				add()
			}
		}), prefixTest(n.Text))
	case *query.Wildcard:
		if len(n.Pattern) > longestPattern {
			p.run.Fail(errTooManyStates)
			return nil
		}
		return p.matching(n.Field, parseWildcard(n.Pattern))
	case *query.Regexp:
		re, err := parseRegexp(n.Pattern)
		if err != nil {
			p.run.Fail(err)
			return nil
		}
		return p.matching(n.Field, re)
	}
	return nil
}

// collect opens the documents of some terms together. each calls add on each of the terms.
func collect(field string, each func(s *reading, terms segment.Terms, add func())) func(*reading, float32) iterator {
	return func(s *reading, value float32) iterator {
		var set *segment.Bitmap
		terms := s.Terms(s.run, field)
		each(s, terms, func() {
			if set == nil {
				set = newSet(s.run, s)
			}
			if s.run.Err() != nil {
				return
			}
			postings := terms.Postings(false)
			for doc := postings.Next(); doc != segment.NoMore; doc = postings.Next() {
				set.Set(doc)
			}
			s.run.Spent(int(terms.Docs()))
		})
		if set == nil {
			return nil
		}
		// Documents of several terms come in the order of the terms; the set brings them into their
		// own.
		return &bitmapIterator{set: set, at: -1, value: value}
	}
}

// matching collects the documents of all terms of a field that match an expression.
func (p *planner) matching(field string, re *syntax.Regexp) func(*reading, float32) iterator {
	a, err := newProgram(p.run, re)
	if err != nil {
		p.run.Fail(err)
		return nil
	}
	return p.orNumbers(field, collect(field, func(s *reading, terms segment.Terms, add func()) {
		walk(s.run, terms, a, func(int32) { add() })
	}), automatonTest(a))
}

// between are the terms of a range.
func between(n *query.Range) func(*reading, float32) iterator {
	return collect(n.Field, func(s *reading, terms segment.Terms, add func()) {
		ok := false
		if n.LowerOpen {
			ok = terms.Next()
		} else {
			ok = terms.Seek(n.Lower)
			if ok && !n.LowerInclude && terms.Term() == n.Lower {
				ok = terms.Next()
			}
		}
		for ; ok; ok = terms.Next() {
			if !n.UpperOpen {
				if t := terms.Term(); t > n.Upper || t == n.Upper && !n.UpperInclude {
					return
				}
			}
			if s.run.Spent(1) {
				return
			}
			add()
		}
	})
}

// either opens the documents of both.
func either(first, second func(*reading, float32) iterator) func(*reading, float32) iterator {
	return func(s *reading, value float32) iterator {
		var parts []iterator
		for _, open := range []func(*reading, float32) iterator{first, second} {
			if i := open(s, value); i != nil {
				parts = append(parts, i)
			}
		}
		switch len(parts) {
		case 0:
			return nil
		case 1:
			return parts[0]
		}
		set := newSet(s.run, s)
		if set == nil {
			return nil
		}
		for _, i := range parts {
			for doc := i.next(); doc != segment.NoMore; doc = i.next() {
				set.Set(doc)
			}
		}
		return &bitmapIterator{set: set, at: -1, value: value}
	}
}

func numbersBetween(n *query.NumRange) func(*reading, float32) iterator {
	return numbersThat(n.Field, func(v float64) bool { return inRange(n, v) })
}

// numbersThat opens the documents with a number that passes.
func numbersThat(field string, passes func(v float64) bool) func(*reading, float32) iterator {
	return func(s *reading, value float32) iterator {
		column := s.Numbers(s.run, field)
		if column == nil {
			return nil
		}
		return &checkIterator{run: s.run, at: -1, n: s.Docs(), value: value, check: func(doc int32) bool {
			return slices.ContainsFunc(column.Numbers(doc), passes)
		}}
	}
}

// inRange: NaN is in no range but one up to itself, as doubles sort in Lucene.
func inRange(n *query.NumRange, v float64) bool {
	low := v > n.Min || n.MinInclude && v == n.Min
	high := v < n.Max || n.MaxInclude && v == n.Max
	return low && high
}

// newSet makes an empty set of the documents of a segment; nil, with the evaluation ended, if the
// sets of the segment take too much memory.
func newSet(run *segment.Run, s segment.Segment) *segment.Bitmap {
	set := run.NewSet(s.Docs())
	if set == nil {
		run.Fail(&Error{"the query has too many patterns and ranges for this index"})
	}
	return set
}
