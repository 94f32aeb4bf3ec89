package search

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/search/analysis"
	"github.com/settee-db/settee/search/index"
	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// Searcher is an index in a snapshot of its database. It is for one goroutine, while Indexes.Search
// runs.
type Searcher struct {
	*index.Index
	// Snapshot is what the index shows; documents read from it are as they were indexed.
	Snapshot *storage.Snapshot
	// Begun is set by the caller once it has begun to answer: from then on a snapshot that becomes
	// too old ends the search.
	Begun bool

	def      *Definition
	locale   query.Locale
	types    map[string]fieldType
	maker    *maker
	keys     *keys // nil if nothing was ever indexed
	synonyms map[*analysis.Analyzer]map[string][]string
}

// kindWords are what kinds of indexes are called where their use is noted.
var kindWords = [...]string{segment.Clouseau: "search", segment.Nouveau: "nouveau"}

// Search opens an index as it is, and calls ask for it, again if the snapshot becomes too old
// before it has begun to answer. An index that was never built is one without documents.
func (x *Indexes) Search(
	ctx context.Context, db *storage.DB, def *Definition, ask func(ctx context.Context, s *Searcher) error,
) error {
	storage.IndexUsed(db, def.DesignDoc, kindWords[def.Kind], def.Name)
	for tries := 0; ; tries++ {
		var s *Searcher
		err := db.View(ctx, func(snapshot *storage.Snapshot) (err error) {
			if s, err = x.searcher(ctx, snapshot, def); err != nil {
				return err
			}
			return ask(ctx, s)
		})
		if !errors.Is(err, kv.ErrTooOld) || s != nil && s.Begun || tries > 20 || ctx.Err() != nil {
			return wireError(err)
		}
	}
}

// wireError gives errors of queries the form that clients see.
func wireError(err error) error {
	var parsing *query.Error
	var searching *index.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &parsing):
		return compat.NewError(compat.KindBadRequest, parsing.Error())
	case errors.As(err, &searching):
		return compat.NewError(compat.KindBadRequest, searching.Error())
	}
	return err
}

// searcher opens the index in a snapshot. An index that was never built, or was removed, has no
// segments and finds nothing.
func (x *Indexes) searcher(ctx context.Context, snapshot *storage.Snapshot, def *Definition) (*Searcher, error) {
	s := &Searcher{Index: &index.Index{Kind: def.Kind}, Snapshot: snapshot, def: def}
	o, err := x.open(ctx, snapshot, def)
	if err != nil {
		return nil, err
	}
	if o == nil {
		return s, nil
	}
	s.Segments, s.keys = o.segments, o.keys
	if def.Kind == segment.Nouveau {
		s.types, err = x.types(snapshot, o)
	}
	return s, err
}

// types are the types of the fields of an index, which the process remembers.
func (x *Indexes) types(s *storage.Snapshot, o *opened) (types map[string]fieldType, err error) {
	o.state.mu.Lock()
	defer o.state.mu.Unlock()
	// The record counts the types, of which none ever goes: as many are the same ones.
	if int64(len(o.state.types)) == o.rec.fields {
		return o.state.types, nil
	}
	types, err = o.keys.readTypes(s.KV())
	if err == nil {
		o.state.types = types
	}
	return types, err
}

// HasStrings reports whether any field has values that are counted.
func (s *Searcher) HasStrings() bool {
	for _, of := range s.Segments {
		for field := range of.Fields() {
			if info, ok := of.Field(field); ok && info.Strings {
				return true
			}
		}
	}
	return false
}

// Refused is why no document at all could be indexed, if a definition is to blame and not its
// function; else "".
func (s *Searcher) Refused() (reason string, err error) {
	if s.keys == nil {
		return "", nil
	}
	counts, err := s.Snapshot.KV().GetMany([][]byte{s.keys.count(countDocs), s.keys.count(countErrors)})
	if err != nil || keyspace.Counter(counts[0]) > 0 || keyspace.Counter(counts[1]) == 0 {
		return "", err
	}
	err = s.keys.errors(s.Snapshot.KV(), "", "", func(e Error) error {
		if e.Thrown {
			return nil
		}
		reason = e.Message
		return storage.ErrStop
	})
	if errors.Is(err, storage.ErrStop) {
		err = nil
	}
	return reason, err
}

// Parse reads a query, in the language of the kind of index. locale is how numbers are written, ""
// for the root one.
func (s *Searcher) Parse(text, locale string, o query.Options) (query.Node, error) {
	o.DefaultField = cmp.Or(o.DefaultField, "default")
	o.Dialect = query.Classic
	if s.Kind == segment.Nouveau {
		o.Dialect, s.locale = query.Flexible, query.LocaleOf(locale)
	}
	n, err := query.Parse(text, o)
	if err != nil {
		return nil, err
	}
	return query.Resolve(n, text, o.Dialect, s)
}

// InPartition is a query for the documents of a partition.
func InPartition(n query.Node, partition string) query.Node {
	return &query.Bool{Clauses: []query.BoolClause{
		{Occur: query.Must, Node: &query.Term{Field: "_partition", Term: partition}},
		{Occur: query.Must, Node: n},
	}}
}

// Tokens implements query.Schema.
func (s *Searcher) Tokens(field, text string) []query.Token {
	var tokens []query.Token
	position := -1
	s.Analyze(field, text, func(term []byte, increment, _, _ int) {
		position += increment
		tokens = append(tokens, query.Token{Term: string(term), Position: position})
	})
	// Words of a query may be replaced by synonyms, names of documents and partitions not.
	if strings.HasPrefix(field, "_") {
		return tokens
	}
	return s.withSynonyms(field, tokens)
}

// Analyze makes terms of a text as a field has them.
func (s *Searcher) Analyze(field, text string, add func(term []byte, increment, start, end int)) {
	if s.maker == nil {
		s.maker = s.def.newMaker()
	}
	s.maker.analyze(s.analyzer(field), text, add)
}

// analyzer is that of a field. In queries of Nouveau's kind of index strings are analysed as texts
// are, though the index has them whole: so does Nouveau, whose users give such fields the analyzer
// keyword.
func (s *Searcher) analyzer(field string) *analysis.Analyzer {
	if s.Kind == segment.Nouveau && strings.HasPrefix(field, "_") {
		keyword, _ := analysis.Lookup(analysis.Nouveau, "keyword")
		return keyword
	}
	return s.def.analyzers.For(field)
}

// Normalize implements query.Schema. Clouseau makes parts of terms small for all analyzers but one.
func (s *Searcher) Normalize(field, text string) string {
	a := s.analyzer(field)
	if s.Kind == segment.Clouseau {
		if a.Name() == "keyword" {
			return text
		}
		return strings.ToLower(text)
	}
	return a.Normalize(text)
}

// IsDouble implements query.Schema.
func (s *Searcher) IsDouble(field string) bool {
	if s.def.native != nil {
		return nativeDouble(field)
	}
	return s.types[field] == doubleField
}

// Locale implements query.Schema.
func (s *Searcher) Locale() query.Locale { return s.locale }
