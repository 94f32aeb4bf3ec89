package index

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

// Highlighter marks the terms of a query in texts, in fragments of them that have the most. It
// works as Lucene's first highlighter, which Clouseau uses: over the stored text, analysed again.
type Highlighter struct {
	Query   query.Node
	Analyze segment.Analyze
	// Pre and Post stand before and after a term.
	Pre, Post string
	// Size is the length of a fragment in characters, Number how many fragments of a text are
	// answered.
	Size, Number int
}

// What a highlighter looks at of a text, and the length of fragments if nothing is said.
const (
	highlightedText = 50 * 1024
	fragmentSize    = 100
)

// marked is a token of the text with whether the query asks for it.
type marked struct {
	term       string
	position   int
	start, end int
	// The query asks for it, in the place where it is.
	hit bool
}

// fragment is a part of the answer.
type fragment struct {
	text strings.Builder
	// Different terms that are in it: their number is its rank.
	found map[string]bool
	place int
}

// Fragments are the best fragments of a text of the field, with marks; none if no term of the query
// is in it.
func (h *Highlighter) Fragments(ctx context.Context, field, text string) ([]string, error) {
	run := segment.NewRun(ctx)
	shown := text
	if len(shown) > highlightedText {
		end := highlightedText
		// Not in the middle of a character.
		for !utf8.RuneStart(shown[end]) {
			end--
		}
		shown = shown[:end]
	}
	tokens := h.tokens(field, shown)
	m := &marker{run: run, field: field, tokens: tokens}
	m.mark(h.Query)
	return h.best(h.cut(text, tokens)), run.Err()
}

// tokens are the terms of a text with their place in it. Positions are absolute: the analyzer gives
// how far each term is from the one before, which is more than 1 where stop words were left out.
func (h *Highlighter) tokens(field, text string) []marked {
	var tokens []marked
	position := -1
	h.Analyze(field, text, func(term []byte, increment, start, end int) {
		position += increment
		tokens = append(tokens, marked{term: string(term), position: position, start: start, end: end})
	})
	return tokens
}

// cut makes fragments of the text: a new one begins with the first token beyond a multiple of the
// size.
func (h *Highlighter) cut(text string, tokens []marked) []*fragment {
	size := h.Size
	if size <= 0 {
		size = fragmentSize
	}
	current := &fragment{found: map[string]bool{}}
	all := []*fragment{current}
	last, characters := 0, 0 // of the text that is in fragments
	for i := 0; i < len(tokens); {
		// Tokens that overlap are marked together.
		j, start, end, hit := i+1, tokens[i].start, tokens[i].end, tokens[i].hit
		for j < len(tokens) && tokens[j].start < end {
			end, hit = max(end, tokens[j].end), hit || tokens[j].hit
			j++
		}
		// A token that begins before what is written already would be written twice.
		if start < last || end < start {
			i = j
			continue
		}
		characters += utf8.RuneCountInString(text[last:end])
		if i > 0 && characters >= size*len(all) {
			current = &fragment{found: map[string]bool{}, place: len(all)}
			all = append(all, current)
		}
		current.text.WriteString(text[last:start])
		if hit {
			current.text.WriteString(h.Pre + text[start:end] + h.Post)
		} else {
			current.text.WriteString(text[start:end])
		}
		for _, t := range tokens[i:j] {
			if t.hit {
				current.found[t.term] = true
			}
		}
		last, i = end, j
	}
	// A longer text ends with its last token that was looked at.
	if len(text) <= highlightedText {
		current.text.WriteString(text[last:])
	}
	return all
}

// best are the fragments with the most different terms, of equal ones the first, in that order.
func (h *Highlighter) best(all []*fragment) []string {
	slices.SortStableFunc(all, func(a, b *fragment) int {
		if c := len(b.found) - len(a.found); c != 0 {
			return c
		}
		return a.place - b.place
	})
	var texts []string
	for _, f := range all[:min(len(all), max(h.Number, 1))] {
		if len(f.found) > 0 {
			texts = append(texts, f.text.String())
		}
	}
	return texts
}

// marker marks the tokens that a query asks for.
type marker struct {
	run    *segment.Run
	field  string
	tokens []marked
}

// mark marks the tokens that a part of the query asks for. Clauses that exclude or only filter are
// not looked at: they are not why a text was found. A pattern that cannot be compiled marks
// nothing; the search itself has reported it.
func (m *marker) mark(n query.Node) {
	switch n := n.(type) {
	case *query.Boost:
		m.mark(n.Node)
	case *query.Bool:
		for _, c := range n.Clauses {
			if c.Occur == query.Should || c.Occur == query.Must {
				m.mark(c.Node)
			}
		}
	case *query.Term:
		m.where(n.Field, func(term string) bool { return term == n.Term })
	case *query.Prefix:
		m.where(n.Field, func(term string) bool { return strings.HasPrefix(term, n.Text) })
	case *query.Range:
		m.where(n.Field, func(term string) bool {
			low := n.LowerOpen || term > n.Lower || n.LowerInclude && term == n.Lower
			return low && (n.UpperOpen || term < n.Upper || n.UpperInclude && term == n.Upper)
		})
	case *query.Wildcard:
		if a, err := newProgram(m.run, parseWildcard(n.Pattern)); err == nil {
			m.matching(n.Field, a)
		}
	case *query.Regexp:
		if re, err := parseRegexp(n.Pattern); err == nil {
			if a, err := newProgram(m.run, re); err == nil {
				m.matching(n.Field, a)
			}
		}
	case *query.Fuzzy:
		m.matching(n.Field, newLevenshtein(m.run, n.Text, fuzzyEdits(n)))
	case *query.Phrase:
		m.phrase(n)
	case *query.Intervals:
		m.intervals(n.Field, n.Source)
	}
}

// where marks the tokens whose term the query asks for, if it asks the field that is shown: a term
// in a clause of another field is no hit here.
func (m *marker) where(field string, asked func(term string) bool) {
	if field != m.field {
		return
	}
	for i := range m.tokens {
		if asked(m.tokens[i].term) {
			m.tokens[i].hit = true
		}
	}
}

func (m *marker) matching(field string, a automaton) {
	m.where(field, func(term string) bool { return matches(a, term) })
}

// matches reports whether an automaton accepts a term.
func matches(a automaton, term string) bool {
	state := a.start()
	for _, r := range term {
		if state == dead {
			return false
		}
		state = a.step(state, r)
	}
	return state != dead && a.accepts(state)
}

// phrase marks terms of a phrase where the others are near enough.
func (m *marker) phrase(n *query.Phrase) {
	if n.Field != m.field {
		return
	}
	places := map[string][]int{} // tokens by term
	for i, t := range m.tokens {
		places[t.term] = append(places[t.term], i)
	}
	for _, at := range m.tokens {
		for _, first := range n.Terms {
			if at.term != first.Term {
				continue
			}
			m.span(n, places, at.position-first.Position)
		}
	}
}

// span marks the terms of a phrase that begins at a position, if all of them are there within the
// slop.
func (m *marker) span(n *query.Phrase, places map[string][]int, start int) {
	var found []int
	// Terms with the same position are alternatives: one of them is enough.
	for i := 0; i < len(n.Terms); {
		any := false
		j := i
		for ; j < len(n.Terms) && n.Terms[j].Position == n.Terms[i].Position; j++ {
			for _, place := range places[n.Terms[j].Term] {
				distance := m.tokens[place].position - n.Terms[j].Position - start
				if distance >= 0 && distance <= n.Slop {
					any = true
					found = append(found, place)
				}
			}
		}
		if !any {
			return
		}
		i = j
	}
	for _, place := range found {
		m.tokens[place].hit = true
	}
}
