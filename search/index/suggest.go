package index

import (
	"cmp"
	"context"
	"github.com/settee-db/settee/search/segment"
	"slices"
	"strings"
	"unicode/utf8"
)

// SuggestRequest asks for terms of a field: those that begin with a text or, with Near, those that
// differ from it by at most Edits edits.
type SuggestRequest struct {
	Field, Text string
	Near        bool
	Edits       int
	// Partition counts the documents of one partition only; nil: all.
	Partition *string
	Limit     int
}

// Suggestion is a term with how many documents have it, and by how much it differs from what was
// asked for.
type Suggestion struct {
	Term  string
	Docs  int64
	Edits int
}

func (s Suggestion) compare(other Suggestion) int {
	return cmp.Or(s.Edits-other.Edits, cmp.Compare(other.Docs, s.Docs), strings.Compare(s.Term, other.Term))
}

// Suggest finds the terms that documents have which are alive: first those with the fewest edits,
// of these those that most documents have.
func (x *Index) Suggest(ctx context.Context, q *SuggestRequest) ([]Suggestion, error) {
	run := segment.NewRun(ctx)
	terms := &joinedTerms{}
	for _, s := range x.Segments {
		part := joinedPart{Terms: s.Terms(run, q.Field), run: run, counted: s.Live()}
		if q.Partition != nil {
			part.counted = partitionOf(run, s, *q.Partition)
		}
		if run.Err() != nil {
			return nil, run.Err()
		}
		terms.parts = append(terms.parts, part)
	}
	best := &suggestions{limit: q.Limit}
	if q.Near {
		edits := q.Edits
		// A very long word would make rows, and keys, of that length.
		if utf8.RuneCountInString(q.Text) > longestFuzzy {
			edits = 0
		}
		a := newLevenshtein(run, q.Text, edits)
		walk(run, terms, a, func(state int32) { best.offer(terms, a.distance(state)) })
	} else {
		for ok := terms.Seek(q.Text); ok && strings.HasPrefix(terms.Term(), q.Text); ok = terms.Next() {
			if run.Spent(1) {
				break
			}
			best.offer(terms, 0)
		}
	}
	return best.list, run.Err()
}

// partitionOf are the live documents of a partition.
func partitionOf(run *segment.Run, s segment.Segment, partition string) *segment.Bitmap {
	set := newSet(run, s)
	if set == nil {
		return nil
	}
	live := s.Live()
	postings, n := s.Term(run, "_partition", partition, false)
	if n == 0 {
		return set
	}
	for doc := postings.Next(); doc != segment.NoMore && !run.Spent(1); doc = postings.Next() {
		if live == nil || live.Has(doc) {
			set.Set(doc)
		}
	}
	return set
}

// suggestions are the first ones of all that were offered.
type suggestions struct {
	limit int
	list  []Suggestion
}

// offer takes the term that terms stand at if it is among the first ones. Documents are counted
// where the number of postings, which is as large or larger, does not rule it out.
func (b *suggestions) offer(terms *joinedTerms, edits int) {
	s := Suggestion{Term: terms.Term(), Docs: int64(terms.Docs()), Edits: edits}
	if b.limit <= 0 || b.full() && s.compare(b.list[b.limit-1]) > 0 {
		return
	}
	if s.Docs = terms.alive(); s.Docs == 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(b.list, s, Suggestion.compare)
	if at == b.limit {
		return
	}
	if b.full() {
		b.list = b.list[:b.limit-1]
	}
	s.Term = strings.Clone(s.Term)
	b.list = slices.Insert(b.list, at, s)
}

func (b *suggestions) full() bool { return len(b.list) == b.limit }

// joinedTerms are the terms of a field in all segments together.
type joinedTerms struct {
	parts []joinedPart
	// at are the parts that have the current term; empty before the first one and behind the last
	// one.
	at   []*joinedPart
	over bool
}

// joinedPart are the terms of a segment. counted are the documents that count; nil: all.
type joinedPart struct {
	segment.Terms
	run     *segment.Run
	counted *segment.Bitmap
	more    bool
	term    string // the current one
}

func (p *joinedPart) moved(more bool) {
	if p.more = more; more {
		p.term = p.Terms.Term()
	}
}

// Next implements Terms.
func (j *joinedTerms) Next() bool {
	if len(j.at) == 0 {
		for i := range j.parts {
			j.parts[i].moved(!j.over && j.parts[i].Next())
		}
		return j.settle()
	}
	for _, p := range j.at {
		p.moved(p.Next())
	}
	return j.settle()
}

// Seek implements Terms.
func (j *joinedTerms) Seek(term string) bool {
	for i := range j.parts {
		if p := &j.parts[i]; !p.more || p.term < term {
			p.moved(p.Seek(term))
		}
	}
	return j.settle()
}

// settle finds the least of the terms that the parts stand at.
func (j *joinedTerms) settle() bool {
	j.at = j.at[:0]
	for i := range j.parts {
		p := &j.parts[i]
		if !p.more {
			continue
		}
		order := -1
		if len(j.at) > 0 {
			order = strings.Compare(p.term, j.at[0].term)
		}
		if order < 0 {
			j.at = j.at[:0]
		}
		if order <= 0 {
			j.at = append(j.at, p)
		}
	}
	j.over = len(j.at) == 0
	return !j.over
}

// Term implements Terms.
func (j *joinedTerms) Term() string { return j.at[0].term }

// Docs implements Terms.
func (j *joinedTerms) Docs() (n int32) {
	for _, p := range j.at {
		n += p.Terms.Docs()
	}
	return n
}

// Postings implements Terms: there are none of several segments.
func (j *joinedTerms) Postings(bool) segment.Postings { return nil }

// alive is how many documents that count have the current term.
func (j *joinedTerms) alive() (n int64) {
	for _, p := range j.at {
		if p.counted == nil {
			n += int64(p.Terms.Docs())
			continue
		}
		postings := p.Postings(false)
		for doc := postings.Next(); doc != segment.NoMore && !p.run.Spent(1); doc = postings.Next() {
			if p.counted.Has(doc) {
				n++
			}
		}
	}
	return n
}
