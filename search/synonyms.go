package search

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/search/analysis"
	"github.com/settee-db/settee/search/query"
)

// synonyms are words that queries take for each other: the member `synonyms` of a definition, a
// list of lists. Neither search server of CouchDB has them. The index does not depend on them, so
// that they can change at any time.
type synonyms [][]string

// Bounds of synonyms: they are read with each query.
const (
	maxSynonyms     = 10_000
	maxSynonymsEach = 50
)

var errSynonyms = compat.NewError(compat.KindBadRequest,
	"`synonyms` must be a list of lists of words, each of them one word to the analyzer, 50 in a list, 10000 in all.")

// readSynonyms reads the member of a definition, if it is there.
func (def *Definition) readSynonyms(d ejson.Value) error {
	groups, ok := d.Get("synonyms")
	if !ok {
		return nil
	}
	if groups.Kind() != ejson.Array {
		return errSynonyms
	}
	var tokens analysis.Tokens
	left := maxSynonyms
	for group := range groups.Elements() {
		var words []string
		if left -= group.Len(); group.Kind() != ejson.Array || group.Len() > maxSynonymsEach || left < 0 {
			return errSynonyms
		}
		for word := range group.Elements() {
			if word.Kind() != ejson.String || len(termsOf(&tokens, def.analyzers.Default, word.Text())) > 1 {
				return errSynonyms
			}
			words = append(words, word.Text())
		}
		def.synonyms = append(def.synonyms, words)
	}
	return nil
}

// termsOf are the terms that an analyzer makes of a text.
func termsOf(tokens *analysis.Tokens, a *analysis.Analyzer, text string) (terms []string) {
	tokens.Reset()
	a.Analyze(tokens, text)
	for _, term := range tokens.All() {
		terms = append(terms, string(term))
	}
	return terms
}

// of are the synonyms by term, for an analyzer. Words of which the analyzer does not make exactly
// one term have none.
func (s synonyms) of(a *analysis.Analyzer) map[string][]string {
	var tokens analysis.Tokens
	all := map[string][]string{}
	for _, words := range s {
		var terms []string
		for _, word := range words {
			if of := termsOf(&tokens, a, word); len(of) == 1 && !slices.Contains(terms, of[0]) {
				terms = append(terms, of[0])
			}
		}
		for _, term := range terms {
			for _, other := range terms {
				if other != term && !slices.Contains(all[term], other) {
					all[term] = append(all[term], other)
				}
			}
		}
	}
	return all
}

// withSynonyms adds those of the terms of a field, at their positions.
func (s *Searcher) withSynonyms(field string, tokens []query.Token) []query.Token {
	if len(s.def.synonyms) == 0 {
		return tokens
	}
	a := s.analyzer(field)
	known, ok := s.synonyms[a]
	if !ok {
		known = s.def.synonyms.of(a)
		if s.synonyms == nil {
			s.synonyms = map[*analysis.Analyzer]map[string][]string{}
		}
		s.synonyms[a] = known
	}
	var all []query.Token
	for _, t := range tokens {
		all = append(all, t)
		for _, other := range known[t.Term] {
			all = append(all, query.Token{Term: other, Position: t.Position})
		}
	}
	return all
}
