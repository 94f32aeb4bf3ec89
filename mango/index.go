package mango

import (
	"cmp"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/views/reduce"
)

// Kind is a kind of index. Where several indexes can answer a query, those of a lower kind are
// preferred (mango_cursor's list of cursor modules).
type Kind uint8

// The kinds.
const (
	KindJSON      Kind = iota // a view of a design document of language "query"
	KindText                  // of full-text search, as Clouseau has them
	KindNouveau               // the same, as Nouveau has them
	KindAllFields             // over all fields, not in CouchDB: package allfields
	KindAllDocs               // the documents by id

	// The number of kinds, for arrays with an element for each (Plan.ranked).
	kinds = iota
)

var kindNames = [...]string{
	KindJSON: "json", KindText: "text", KindNouveau: "nouveau", KindAllFields: "auto", KindAllDocs: "special",
}

// String is the type as clients see it.
func (k Kind) String() string { return kindNames[k] }

// Index is an index of a database as queries see it. It is immutable.
type Index struct {
	DDoc string // "_design/…"; "" for KindAllDocs
	Name string // of the view
	Kind Kind
	// It was built of each partition alone, so that only queries of one partition can use it.
	Partitioned bool
	// In the order of the key. Of text indexes they are the fields with their types, nil for all
	// fields.
	Columns []string
	Values  []string // of KindJSON: the fields whose sums it has (reduce.Fields), in their order
	Filter  bool     // it holds only some documents, so it is used where a query names it
	// ByPrincipal says that a document has a row for each principal that its _access names, before the
	// columns: users of a slice read their own. No query of all documents uses it.
	ByPrincipal bool
	forUsers    bool // its design document is for everybody who has signed in

	allFields *allfields.Definition // of KindAllFields
	text      *textDefinition       // of KindText and KindNouveau
	// The definition as listings show it, JSON; bookmarks have its hash.
	def    []byte
	mapped []byte // of KindJSON: the definition as the design document has it
	// unreadable says that CouchDB took a filter that this package does not: the index has no rows.
	unreadable bool
}

// AllDocs is the index that every database has.
var AllDocs = &Index{
	Name:    "_all_docs",
	Kind:    KindAllDocs,
	Columns: []string{"_id"},
	def:     []byte(`{"fields":[{"_id":"asc"}]}`),
}

// Language is the `language` of design documents that hold indexes.
const Language = "query"

// IndexesOf returns the indexes of a design document; id has the prefix. What is no definition of
// one is passed over (mango_idx_view:from_ddoc/1).
func IndexesOf(id string, body ejson.Value, partitionedDB bool) []*Index {
	language, _ := body.Get("language")
	views, _ := body.Get("views")
	if language.Kind() != ejson.String || !language.TextIs(Language) {
		return nil
	}
	partitioned := partitionedDB
	// A design document may be global in a partitioned database.
	if options, ok := body.Get("options"); ok {
		if v, _ := options.Get("partitioned"); v.Kind() == ejson.Bool {
			partitioned, _ = v.Bool()
		}
	}
	// All kinds may be in one design document, each under a member of its own (Kind.member).
	found := append(allFieldsIndexes(id, body), textIndexes(id, body, partitioned)...)
	if views.Kind() != ejson.Object {
		return found
	}
	for name, view := range views.Members() {
		definition, _ := view.Get("map")
		fields, _ := definition.Get("fields")
		options, _ := view.Get("options")
		// A view of the same design document that is no index of Mango has no such members.
		if fields.Kind() != ejson.Object || options.Kind() != ejson.Object {
			continue
		}
		ix := &Index{
			DDoc:        id,
			Name:        name.Text(),
			Kind:        KindJSON,
			Partitioned: partitioned,
			def:         appendDefinition(nil, definition),
		}
		// The order of the members is the order of the columns: JSON objects keep it here.
		for column := range fields.Members() {
			ix.Columns = append(ix.Columns, column.Text())
		}
		ix.Values = valuesOf(definition)
		ix.Filter = partialFilter(definition).Kind() != ejson.Invalid
		ix.mapped = definition.AppendJSON(nil)
		ix.ByPrincipal, ix.forUsers = byPrincipal(definition), isForUsers(body)
		// An index that cannot be built is listed, so that it can be seen and deleted, but answers
		// nothing.
		_, err := newMapper(ix.mapped)
		ix.unreadable = err != nil
		found = append(found, ix)
	}
	return found
}

// byPrincipal reports whether the definition of an index asks for rows of each principal.
func byPrincipal(definition ejson.Value) bool {
	v, _ := definition.Get("access")
	is, _ := v.Bool()
	return is
}

// forUsers is the list of a design document that is for everybody who has signed in.
const forUsers = `["_users"]`

func isForUsers(design ejson.Value) bool {
	list, _ := design.Get("_access")
	return list.Kind() == ejson.Array && string(list.AppendJSON(nil)) == forUsers
}

// valuesOf gives the fields whose sums an index has; nil where it has none. What no request could
// have defined, replication may bring: it counts as none.
func valuesOf(definition ejson.Value) []string {
	values, _ := definition.Get("values")
	return fieldsOfValues(values)
}

// fieldsOfValues reads a list of different fields; nil for anything else, an empty list among it.
func fieldsOfValues(v ejson.Value) (names []string) {
	if v.Kind() != ejson.Array || v.Len() > reduce.MaxFields {
		return nil
	}
	for e := range v.Elements() {
		name := e.Text()
		_, ok := SplitField(name)
		if e.Kind() != ejson.String || !ok || slices.Contains(names, name) {
			return nil
		}
		names = append(names, name)
	}
	return names
}

// partialFilter is the selector that documents of an index pass, no value if all do. Old indexes
// have it as `selector` (mango_idx:get_partial_filter_selector/1).
func partialFilter(definition ejson.Value) ejson.Value {
	filter, ok := definition.Get("partial_filter_selector")
	if !ok {
		filter, _ = definition.Get("selector")
	}
	// An empty filter is what CouchDB writes for indexes that are not partial.
	if filter.Kind() == ejson.Object && filter.Len() == 0 {
		return ejson.Value{}
	}
	return filter
}

// appendDefinition appends the definition of an index over sorted fields as listings show it:
// fields as a list, a filter only if it is one (mango_idx_view:def_to_json/1).
func appendDefinition(dst []byte, definition ejson.Value) []byte {
	return appendListed(dst, definition, func(dst []byte, fields ejson.Value) []byte {
		separator := ""
		for field, direction := range fields.Members() {
			dst = append(append(field.AppendJSON(append(append(dst, separator...), '{')), ':'), direction.Raw()...)
			dst = append(dst, '}')
			separator = ","
		}
		return dst
	})
}

// appendListed appends a definition as listings show it; list appends its fields, without the
// brackets.
func appendListed(
	dst []byte, definition ejson.Value, list func(dst []byte, fields ejson.Value) []byte,
) []byte {
	dst = append(dst, '{')
	separator := ""
	for name, value := range definition.Members() {
		if name.TextIs("partial_filter_selector") && value.Kind() == ejson.Object && value.Len() == 0 {
			continue
		}
		dst = append(name.AppendJSON(append(dst, separator...)), ':')
		separator = ","
		if !name.TextIs("fields") {
			dst = value.AppendJSON(dst)
			continue
		}
		dst = append(list(append(dst, '['), value), ']')
	}
	return append(dst, '}')
}

// AppendJSON appends the index as _index and _explain show it.
func (ix *Index) AppendJSON(dst []byte) []byte {
	if ix.Kind == KindAllDocs {
		dst = append(dst, `{"ddoc":null,"name":`...)
	} else {
		dst = append(ejson.AppendString(append(dst, `{"ddoc":`...), ix.DDoc), `,"name":`...)
	}
	dst = ejson.AppendString(dst, ix.Name)
	dst = append(append(append(dst, `,"type":"`...), ix.Kind.String()...), '"')
	if ix.Kind != KindAllDocs {
		dst = appendBool(append(dst, `,"partitioned":`...), ix.Partitioned)
	}
	return append(append(append(dst, `,"def":`...), ix.def...), '}')
}

// compareIndexes orders by design document, name and type; the index of all documents and those
// over all fields come first.
func compareIndexes(a, b *Index) int {
	return cmp.Or(cmp.Compare(a.Kind.group(), b.Kind.group()), cmp.Compare(a.DDoc, b.DDoc),
		cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind.String(), b.Kind.String()))
}

// group is the place of a kind in listings.
func (k Kind) group() int {
	switch k {
	case KindAllDocs:
		return 0
	case KindAllFields:
		return 1
	}
	return 2
}

// SortIndexes brings indexes into the order of listings.
func SortIndexes(list []*Index) { slices.SortFunc(list, compareIndexes) }

// belongs reports whether the index is the one, or among those, that use_index names.
func (ix *Index) belongs(use []string) bool {
	// _all_docs cannot be named: it is there whatever use_index says.
	if len(use) == 0 || ix.Kind == KindAllDocs {
		return false
	}
	return ix.DDoc == DesignID(use[0]) && (len(use) == 1 || ix.Name == use[1])
}

// DesignID is the id of a design document that is named with or without its prefix.
func DesignID(name string) string {
	if compat.IsDesignID(name) {
		return name
	}
	return compat.DesignPrefix + name
}
