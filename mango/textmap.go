package mango

import (
	"maps"
	"slices"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/search/segment"
)

// Texts is the language of design documents that hold indexes, for package search: an index's
// member `index` is the definition of a text index.
type Texts struct{}

// Compile implements search.Language.
func (Texts) Compile(kind segment.Kind, definition ejson.Value) (search.Mapper, error) {
	of := KindText
	if kind == segment.Nouveau {
		of = KindNouveau
	}
	d, err := readTextDefinition(definition, of)
	if err != nil {
		return nil, err
	}
	return &textMapper{textDefinition: d, kind: kind, size: int(selector.Size(definition))}, nil
}

// textMapper makes fields of documents (mango_native_proc:get_text_entries/2). Different from
// CouchDB, names are those of all fields, whichever the index has the values of, and documents
// without any of these are in the index, too: a query for fields that are there, or are not, finds
// all that it should.
type textMapper struct {
	*textDefinition
	kind segment.Kind
	size int
}

// Size implements search.Mapper.
func (m *textMapper) Size() int { return m.size }

// Map implements search.Mapper.
func (m *textMapper) Map(doc ejson.Value) ([]segment.Value, bool, error) {
	if !m.filter.Empty() {
		if passes, err := m.filter.Match(doc); !passes || err != nil {
			return nil, false, err
		}
	}
	w := &textWalk{textMapper: m, names: map[string]bool{}}
	w.object(nil, doc)
	names := make([]segment.Value, 0, len(w.names))
	for _, name := range slices.Sorted(maps.Keys(w.names)) {
		names = append(names,
			segment.Value{Name: fieldNames, Text: name, Norms: m.kind == segment.Clouseau})
	}
	return append(names, w.values...), true, nil
}

// maxTextName is how many bytes the name of a field may have; what has a longer one is not in the
// index.
const maxTextName = 4096

// textWalk goes through one document.
type textWalk struct {
	*textMapper
	names  map[string]bool
	values []segment.Value
}

// object goes through the members of an object (mango_native_proc:get_text_field_values_obj/3).
// Names are escaped, so that a dot in a name differs from one between names. An empty object has
// no values but a name, by which $exists finds it; an empty document has none.
func (w *textWalk) object(path []byte, v ejson.Value) {
	if v.Len() == 0 && path != nil {
		w.names[string(path)+"_3a"+typeEmptyObject] = true
	}
	for name, member := range v.Members() {
		inner := path[:len(path):len(path)]
		if path != nil {
			inner = append(inner, '.')
		}
		inner = appendTextPart(inner, name.Text())
		if inner == nil {
			inner = []byte{}
		}
		if len(inner) <= maxTextName {
			w.value(inner, member)
		}
	}
}

// value adds one value under the name of its field and type: CouchDB indexes types apart, as
// "age:number" and "age:string".
func (w *textWalk) value(path []byte, v ejson.Value) {
	switch typ := selector.TypeName(v); typ {
	case "object":
		w.object(path, v)
	case "array":
		w.array(path, v)
	default:
		name := string(path) + "_3a" + typ
		w.names[name] = true
		w.scalar(path, name, v)
	}
}

// array adds the elements of an array under the name of the array with an element mark, so that
// one name finds all of them (mango_native_proc:get_text_field_values_arr/3). Lengths serve $size;
// an index without them still marks empty arrays for $exists.
func (w *textWalk) array(path []byte, v ejson.Value) {
	inner := appendTextPart(append(path[:len(path):len(path)], '.'), element)
	if w.lengths {
		name := string(inner) + "_3alength"
		w.names[name] = true
		w.add(segment.Value{Name: name, IsNumber: true, Number: float64(v.Len())})
	} else if v.Len() == 0 {
		w.names[string(inner)+"_3a"+typeEmptyArray] = true
	}
	for e := range v.Elements() {
		if len(inner) <= maxTextName {
			w.value(inner, e)
		}
	}
}

// scalar adds the value of a field, if the index has it.
func (w *textWalk) scalar(path []byte, name string, v ejson.Value) {
	if typed := string(path) + "_3atext"; v.Kind() == ejson.String &&
		w.textDefinition.names[typed] {
		w.add(segment.Value{Name: typed, Text: v.Text(), Analyzed: true, Norms: true})
	}
	if !w.has(name) {
		return
	}
	switch v.Kind() {
	case ejson.String:
		text := v.Text()
		w.add(segment.Value{
			Name: name, Text: textTerm(text), Norms: w.kind == segment.Clouseau, Facet: w.kind == segment.Nouveau,
		})
		if w.byDefault {
			w.names[defaultTextField] = true
			w.add(segment.Value{Name: defaultTextField, Text: text, Analyzed: true, Norms: true})
		}
	case ejson.Bool:
		w.add(segment.Value{Name: name, Text: string(v.Raw()), Norms: w.kind == segment.Clouseau})
	case ejson.Null:
		w.add(segment.Value{Name: name, Text: "true", Norms: w.kind == segment.Clouseau})
	default:
		if f, ok := v.Float(); ok {
			w.add(segment.Value{Name: name, IsNumber: true, Number: f})
		}
	}
}

func (w *textWalk) add(v segment.Value) { w.values = append(w.values, v) }
