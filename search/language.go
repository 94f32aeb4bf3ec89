package search

import (
	"context"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/search/analysis"
	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

// Language makes documents of an index without JavaScript: that of design documents whose
// `language` it is.
type Language interface {
	// Compile reads the member `index` of a definition. The error is what a query of the index
	// answers.
	Compile(kind segment.Kind, definition ejson.Value) (Mapper, error)
}

// Mapper gives the fields of documents. It is safe for concurrent use.
type Mapper interface {
	// Map gives the values of a document, which has _id, _rev and all that clients see of it; false
	// leaves it out of the index. A document with an error is listed among those that could not be
	// indexed.
	Map(doc ejson.Value) (values []segment.Value, ok bool, err error)
	// Size is how many bytes of memory the mapper takes at most, besides the text of its definition.
	Size() int
}

// nativeFormat is what goes into the signature of an index without JavaScript; another one makes
// such indexes anew.
const nativeFormat = 2

// compile makes a definition one of a language. Its analyzers are in the member `analyzer` in the
// form of _search, whatever the kind of index.
func (def *Definition) compile(language Language, d, source ejson.Value) (analyzers []ejson.Value, err error) {
	if def.native, err = language.Compile(def.Kind, source); err != nil {
		return nil, err
	}
	def.text = d.AppendJSON(nil)
	analyzer, _ := d.Get("analyzer")
	if def.Kind == segment.Clouseau {
		if def.analyzers, err = analysis.ClouseauSet(analyzer); err != nil {
			return nil, errNoAnalyzer
		}
		return []ejson.Value{analyzer}, nil
	}
	standard, _ := analyzer.Get("default")
	fields, _ := analyzer.Get("fields")
	name := standard.Text()
	if analyzer.Kind() == ejson.String {
		name = analyzer.Text()
	}
	var unknown string
	if def.analyzers, unknown, err = analysis.NouveauSet(name, fields); err != nil {
		return nil, errNoAnalyzerNamed(unknown)
	}
	// sign hashes the analyzer as it is written for native indexes; two empty values stand for
	// Nouveau's two analyzers.
	return []ejson.Value{{}, {}}, nil
}

// native takes documents that go through no JavaScript.
func (k *making) native(ctx context.Context, docs []*source) error {
	parser := ejson.AcquireParser()
	defer parser.Release()
	for _, src := range docs {
		doc, err := parser.Parse(src.text)
		if err != nil {
			return corrupt("document")
		}
		src.fields = k.b.def.nativeFields(src.id, doc, k.b.partitioned)
		if err := k.take(ctx, src); err != nil {
			return err
		}
	}
	return nil
}

// nativeFields are the fields of a document that goes through no JavaScript. partitioned is the
// kind of the database.
func (def *Definition) nativeFields(id string, doc ejson.Value, partitioned bool) *fields {
	f := &fields{}
	values, ok, err := def.native.Map(doc)
	switch {
	case err != nil:
		f.failure = err.Error()
	case ok:
		f.values = values
		partition := ""
		if partitioned {
			partition = partitionOf(id)
		}
		f.name(id, partition)
	}
	return f
}

// Phrase is a query for a text in quotes.
func (s *Searcher) Phrase(field, text string) (query.Node, error) {
	dialect := query.Classic
	if s.Kind == segment.Nouveau {
		dialect = query.Flexible
	}
	return query.Resolve(&query.Text{Field: field, Text: text, Quoted: true}, text, dialect, s)
}

// nativeDouble reports whether a field of an index without JavaScript has numbers: its name tells.
func nativeDouble(field string) bool {
	return strings.HasSuffix(field, "_3anumber") || strings.HasSuffix(field, "_3alength")
}
