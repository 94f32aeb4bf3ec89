package search

import (
	"fmt"
	"math"
	"regexp"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/search/analysis"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage/again"
)

// This file makes values of fields of what an index function called index() with.

// fieldType is what a field of Nouveau's kind of index has; the first document that has the field
// says it.
type fieldType byte

const (
	textField fieldType = iota + 1
	stringField
	doubleField
)

var fieldTypes = map[string]fieldType{"text": textField, "string": stringField,
	"double": doubleField}

func (t fieldType) String() string {
	return [...]string{"", "TEXT", "STRING", "DOUBLE"}[t]
}

// typedField is a field that a document uses, with its type.
type typedField struct {
	name string
	of   fieldType
}

var nouveauName = regexp.MustCompile(`^\$?[a-zA-Z][a-zA-Z0-9_]*$`)

// fields is the result of an index function for a document.
type fields struct {
	values []segment.Value
	types  []typedField
	// failure is why the document cannot be indexed; thrown says that the function threw it.
	failure string
	thrown  bool
	lack    again.Lack // the lack of memory, if that is why
}

// fieldsOf reads the calls of index() that a function has made for a document. A document with a
// bad call is not indexed at all: failure is the message that is kept for it.
func (def *Definition) fieldsOf(id, partition string, result *js.MapResult) *fields {
	f := &fields{failure: result.Err, thrown: result.Err != ""}
	if f.failure != "" {
		return f
	}
	for i := range result.Rows {
		row := &result.Rows[i]
		key, err := ejson.Parse(row.Key)
		if err != nil {
			return &fields{failure: "the arguments of index() are no JSON"}
		}
		options, err := ejson.Parse(row.Value)
		if err != nil {
			return &fields{failure: "the options of index() are no JSON"}
		}
		var arguments []ejson.Value
		for v := range key.Elements() {
			arguments = append(arguments, v)
		}
		if def.Kind == segment.Nouveau {
			f.nouveau(arguments, options)
		} else {
			f.clouseau(arguments, options)
		}
		if f.failure != "" {
			return f
		}
	}
	if len(f.values) > 0 {
		f.name(id, partition)
	}
	return f
}

// name adds the fields that name the document and its partition.
func (f *fields) name(id, partition string) {
	f.add(segment.Value{Name: "_id", Text: id})
	if partition != "" {
		f.add(segment.Value{Name: "_partition", Text: partition})
	}
}

func (f *fields) add(v segment.Value) { f.values = append(f.values, v) }

// clouseau reads a call of index(name, value, options) (ClouseauTypeFactory: constructField). What
// is neither a text nor a number nor a boolean, such as the null that JSON makes of NaN, is passed
// over.
func (f *fields) clouseau(arguments []ejson.Value, options ejson.Value) {
	if len(arguments) != 2 {
		return
	}
	v := segment.Value{Name: arguments[0].Text(), Analyzed: true, Norms: true,
		Store: isSet(options, "store")}
	if how, ok := options.Get("index"); ok {
		switch off, isBool := how.Bool(); {
		case isBool && !off, how.TextIs("no"):
			v.NotIndexed, v.Analyzed, v.Norms = true, false, false
		case how.TextIs("not_analyzed"):
			v.Analyzed = false
		case how.TextIs("analyzed_no_norms"):
			v.Norms = false
		case how.TextIs("not_analyzed_no_norms"):
			v.Analyzed, v.Norms = false, false
		}
	}
	facet := isSet(options, "facet")
	switch value := arguments[1]; value.Kind() {
	case ejson.String:
		v.Text, v.Facet = value.Text(), facet
		if boost, ok := options.Get("boost"); ok {
			if n, ok := boost.Float(); ok {
				v.Boost = float32(n)
			}
		}
	case ejson.Bool:
		v.Text, v.Analyzed = string(value.Raw()), false
	case ejson.Int, ejson.Double:
		n, ok := value.Float()
		if !ok || math.IsInf(n, 0) {
			return
		}
		v.IsNumber, v.Number, v.NotIndexed = true, n, false
	default:
		return
	}
	f.add(v)
}

// isSet reports whether an option is true, or a text that Clouseau takes for it.
func isSet(options ejson.Value, name string) bool {
	v, ok := options.Get(name)
	if b, isBool := v.Bool(); isBool {
		return b
	}
	return ok && (v.TextIs("yes") || v.TextIs("true"))
}

// nouveau reads a call of index(type, name, value, options).
func (f *fields) nouveau(arguments []ejson.Value, options ejson.Value) {
	if len(arguments) != 3 {
		return
	}
	of, name, value := fieldTypes[arguments[0].Text()], arguments[1].Text(), arguments[2]
	if !nouveauName.MatchString(name) {
		f.failure = fmt.Sprintf("name of field %s must match \"%s\"", name, nouveauName)
		return
	}
	v := segment.Value{Name: name, Store: of == 0 || isSet(options, "store"), NotIndexed: of == 0}
	switch value.Kind() {
	case ejson.String:
		v.Text = value.Text()
		v.Analyzed, v.Norms, v.Facet = of == textField, of == textField, of == stringField
		if of == stringField && len(v.Text) > analysis.MaxTerm {
			f.failure = fmt.Sprintf("field %s has a string of more than %d bytes", name,
				analysis.MaxTerm)
			return
		}
	case ejson.Int, ejson.Double:
		n, ok := value.Float()
		if !ok || math.IsInf(n, 0) {
			return
		}
		v.IsNumber, v.Number = true, n
	default:
		return
	}
	if of != 0 {
		f.types = append(f.types, typedField{name, of})
	}
	f.add(v)
}

// checkTypes holds a document against the types that its fields have, and returns those of fields
// that are new.
func (f *fields) checkTypes(known map[string]fieldType) (fresh []typedField) {
	for _, t := range f.types {
		of := known[t.name]
		for i := range fresh {
			if fresh[i].name == t.name {
				of = fresh[i].of
			}
		}
		switch of {
		case t.of:
		case 0:
			fresh = append(fresh, t)
		default:
			f.failure = fmt.Sprintf("field %s is of type %s not %s", t.name, of, t.of)
			return nil
		}
	}
	return fresh
}

// maker makes documents of values, for one goroutine.
type maker struct {
	of     *segment.Maker
	tokens analysis.Tokens
	most   int // bytes of a record
}

// newMaker makes a maker of documents for one goroutine. An index that is written in the documents'
// transactions takes smaller records.
func (def *Definition) newMaker() *maker {
	m := &maker{most: maxRecord}
	if def.native != nil && !def.later {
		m.most = maxInteractive
	}
	m.of = segment.NewMaker(def.Kind, func(field, text string,
		add func(term []byte, increment, start, end int)) {
		m.analyze(def.analyzers.For(field), text, add)
	})
	m.of.MostFields, m.of.MostRecord = maxFields, m.most
	return m
}

func (m *maker) analyze(
	a *analysis.Analyzer, text string, add func(term []byte, increment, start, end int),
) {
	m.tokens.Reset()
	a.Each(&m.tokens, text, func(t analysis.Token, term []byte) {
		add(term, int(t.Increment), int(t.Start), int(t.End))
	})
}
