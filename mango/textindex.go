package mango

import (
	"errors"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/search/segment"
)

// Text indexes are those of full-text search: of the types "text", as Clouseau keeps them, and
// "nouveau". This file reads their definitions.

// IsText reports whether indexes of this kind are those of full-text search.
func (k Kind) IsText() bool { return k == KindText || k == KindNouveau }

// SearchKind is the kind that package search knows an index of full-text search by.
func (k Kind) SearchKind() segment.Kind {
	if k == KindNouveau {
		return segment.Nouveau
	}
	return segment.Clouseau
}

// textDefinition says which fields of documents a text index has.
type textDefinition struct {
	columns   []string        // names of fields with their types; nil: all fields
	names     map[string]bool // of columns, as the index has them
	byDefault bool            // strings are in $default too
	lengths   bool            // of arrays
	filter    *selector.Selector
	filtered  bool
}

// allFieldsOfText is what `fields` is in the definition of an index with all of them.
const allFieldsOfText = "all_fields"

// textOptions are the members of a definition, checked, in the order that design documents have
// them in (mango_idx_text:opts/0).
type textOptions struct {
	analyzer, defaultField ejson.Value // no value: not given
	partial, selector      *selector.Selector
	fields                 ejson.Value
	all                    bool
	lengths                bool
}

// readTextOptions reads the definition in a request or a design document
// (mango_idx_text:do_validate/1).
func readTextOptions(given ejson.Value, kind Kind, follows36 bool) (*textOptions, error) {
	if given.Kind() != ejson.Object {
		return nil, compat.Named(compat.KindBadRequest, "invalid_index",
			"Text indexes must be an object, not: "+term(given))
	}
	m := newMembers(given)
	o := &textOptions{partial: new(selector.Selector), selector: new(selector.Selector), all: true, lengths: true}
	o.analyzer, _ = m.take("default_analyzer")
	o.defaultField, _ = m.take("default_field")
	for _, filter := range []struct {
		name string
		to   **selector.Selector
	}{{"partial_filter_selector", &o.partial}, {"selector", &o.selector}} {
		v, ok := m.take(filter.name)
		if !ok {
			continue
		}
		if err := checkFilterSize(v); err != nil {
			return nil, err
		}
		if *filter.to = m.selector(v, follows36); m.err != nil {
			return nil, m.err
		}
		if err := checkFilter(*filter.to); err != nil {
			return nil, err
		}
	}
	if v, ok := m.take("fields"); ok {
		o.fields = v
		o.all = v.TextIs(allFieldsOfText) || v.Kind() == ejson.Array && v.Len() == 0
		if !o.all && !areTextFields(v, kind) {
			m.err = errTextFields(v, kind)
		}
	}
	m.boolean("index_array_lengths", &o.lengths)
	return o, m.finish()
}

// areTextFields reports whether this is a list of {"name": a name, "type": a type}.
func areTextFields(v ejson.Value, kind Kind) bool {
	if v.Kind() != ejson.Array {
		return false
	}
	for field := range v.Elements() {
		name, typ, ok := readTextField(field)
		if !ok || name == "" || !slices.Contains([]string{"string", "number", "boolean"}, typ) &&
			(typ != "text" || kind != KindNouveau) {
			return false
		}
	}
	return true
}

func readTextField(v ejson.Value) (name, typ string, ok bool) {
	n, hasName := v.Get("name")
	t, hasType := v.Get("type")
	ok = v.Kind() == ejson.Object && v.Len() == 2 && hasName && hasType &&
		n.Kind() == ejson.String &&
		t.Kind() == ejson.String
	return n.Text(), t.Text(), ok
}

// errTextFields is CouchDB's refusal of the fields of a text index, with its line breaks.
func errTextFields(v ejson.Value, kind Kind) error {
	const form = "Text Index field definitions must be of the form\n            {\"name\": \"non-empty fieldname\", " +
		"\"type\":\n                "
	types := `"boolean,number, or string"}. Def: `
	if kind == KindNouveau {
		types = `"boolean,number,string or text"}. Def: `
	}
	return compat.Named(compat.KindBadRequest, "invalid_index_fields_definition",
		form+types+compat.ErlangTerm(v))
}

var errIndexAllDisabled = compat.Named(compat.KindForbidden, "index_all_disabled",
	"New text indexes are forbidden to index all fields.")

// appendJSON appends the definition as design documents have it.
func (o *textOptions) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"default_analyzer":`...)
	dst = appendOr(dst, o.analyzer, `"keyword"`)
	dst = appendOr(append(dst, `,"default_field":`...), o.defaultField, "{}")
	dst = o.partial.AppendJSON(append(dst, `,"partial_filter_selector":`...))
	dst = o.selector.AppendJSON(append(dst, `,"selector":`...))
	dst = append(dst, `,"fields":`...)
	if o.all {
		dst = append(dst, `"`+allFieldsOfText+`"`...)
	} else {
		dst = o.fields.AppendJSON(dst)
	}
	return append(appendBool(append(dst, `,"index_array_lengths":`...), o.lengths), '}')
}

func appendOr(dst []byte, v ejson.Value, absent string) []byte {
	if v.Kind() == ejson.Invalid {
		return append(dst, absent...)
	}
	return v.AppendJSON(dst)
}

// defaultFieldOf reads default_field: whether strings are in $default too, and its analyzer
// (mango_idx_text:get_default_field_options/1).
func defaultFieldOf(v ejson.Value) (enabled bool, analyzer ejson.Value) {
	if b, ok := v.Bool(); ok {
		return b, analyzer
	}
	enabled = true
	if on, ok := v.Get("enabled"); ok {
		enabled, _ = on.Bool()
	}
	analyzer, _ = v.Get("analyzer")
	return enabled, analyzer
}

// appendAnalyzer appends the member `analyzer` of the definition
// (mango_idx_text:construct_analyzer/1).
func (o *textOptions) appendAnalyzer(dst []byte) []byte {
	enabled, analyzer := defaultFieldOf(o.defaultField)
	if !enabled {
		return append(dst, `"keyword"`...)
	}
	dst = appendOr(append(dst, `{"name":"perfield","default":`...), o.analyzer, `"keyword"`)
	dst = appendOr(append(dst, `,"fields":{"$default":`...), analyzer, `"standard"`)
	return append(dst, "}}"...)
}

// readTextDefinition reads the definition in a design document. Of those that CouchDB made a list
// of fields may be empty: then there are none.
func readTextDefinition(v ejson.Value, kind Kind) (*textDefinition, error) {
	o, err := readTextOptions(v, kind, false)
	if err != nil {
		return nil, err
	}
	d := &textDefinition{lengths: o.lengths, filter: o.partial}
	if o.partial.Empty() {
		d.filter = o.selector
	}
	d.filtered = partialFilter(v).Kind() != ejson.Invalid || !d.filter.Empty()
	d.byDefault, _ = defaultFieldOf(o.defaultField)
	if o.fields.Kind() != ejson.Array {
		return d, nil
	}
	d.columns, d.names = []string{}, map[string]bool{}
	for field := range o.fields.Elements() {
		name, typ, _ := readTextField(field)
		d.columns = append(d.columns, name+":"+typ)
		if p := selector.ParsePath(name); p.Valid {
			d.names[textName(p.Parts, typ)] = true
		}
	}
	return d, nil
}

// has reports whether the index has the values of a field.
func (d *textDefinition) has(name string) bool { return d.columns == nil || d.names[name] }

// textIndexes are the text indexes of a design document of language "query"
// (mango_idx_text:from_ddoc/1).
func textIndexes(id string, body ejson.Value, partitioned bool) (list []*Index) {
	for _, kind := range []Kind{KindText, KindNouveau} {
		members, _ := body.Get(kind.member())
		if members.Kind() != ejson.Object {
			continue
		}
		for name, v := range members.Members() {
			definition, _ := v.Get("index")
			text, err := readTextDefinition(definition, kind)
			if err != nil {
				continue
			}
			ix := &Index{
				DDoc: id, Name: name.Text(), Kind: kind, Partitioned: partitioned, Filter: text.filtered, text: text,
			}
			if ix.Columns = text.columns; text.columns != nil && text.byDefault {
				ix.Columns = append([]string{defaultTextField}, text.columns...)
			}
			ix.def = appendTextDefinition(nil, definition)
			list = append(list, ix)
		}
	}
	return list
}

// appendTextDefinition is appendDefinition of a text index (mango_idx_text:def_to_json/1).
func appendTextDefinition(dst []byte, definition ejson.Value) []byte {
	return appendListed(dst, definition, func(dst []byte, fields ejson.Value) []byte {
		separator := ""
		for field := range fields.Elements() {
			name, typ, _ := readTextField(field)
			dst = ejson.AppendString(append(append(dst, separator...), '{'), name)
			dst = append(ejson.AppendString(append(dst, ':'), typ), '}')
			separator = ","
		}
		return dst
	})
}

// unusableText is unusable for a text index: whether it has all fields that a query looks for
// (is_usable/3).
func (ix *Index) unusableText(s *selector.Selector) string {
	if s.Empty() {
		return reasonEmpty
	}
	tree, err := textTree(s)
	switch {
	case errors.Is(err, errTextTooLarge) && !s.IsTextSearch():
		return reasonFields // another index can answer
	case ix.text.columns == nil:
		return ""
	case err != nil:
		return reasonFields
	}
	for _, name := range tree.indexable(nil) {
		if !slices.Contains(ix.Columns, name) {
			return reasonFields
		}
	}
	return ""
}
