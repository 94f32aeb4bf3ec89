package selector

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat/ejson"
)

// The model of a list of fields: documents are plain values, which are decoded as a whole.
type (
	modelObject []modelMember
	modelMember struct {
		name  string
		value any // modelObject, []any, or the text of a scalar
		made  bool
	}
)

func modelOf(v ejson.Value) any {
	switch v.Kind() {
	case ejson.Object:
		o := modelObject{}
		for name, value := range v.Members() {
			o = append(o, modelMember{name: name.Text(), value: modelOf(value)})
		}
		return o
	case ejson.Array:
		list := []any{}
		for e := range v.Elements() {
			list = append(list, modelOf(e))
		}
		return list
	}
	return string(v.AppendJSON(nil))
}

func modelText(v any) string {
	var parts []string
	switch v := v.(type) {
	case modelObject:
		for _, m := range v {
			parts = append(parts, string(ejson.AppendString(nil, m.name))+":"+modelText(m.value))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		for _, e := range v {
			parts = append(parts, modelText(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return v.(string)
}

func modelGet(v any, parts []string) (any, bool) {
	if len(parts) == 0 {
		return v, true
	}
	switch v := v.(type) {
	case modelObject:
		for _, m := range v {
			if m.name == parts[0] {
				return modelGet(m.value, parts[1:])
			}
		}
	case []any:
		if n, err := strconv.Atoi(parts[0]); err == nil && n >= 0 && n < len(v) {
			return modelGet(v[n], parts[1:])
		}
	}
	return nil, false
}

// modelSet puts a value into an object that is built: what stands there from the document stays.
func modelSet(o modelObject, parts []string, value any) modelObject {
	i := slices.IndexFunc(o, func(m modelMember) bool { return m.name == parts[0] })
	if i < 0 {
		i = len(o)
		o = append(o, modelMember{name: parts[0], value: modelObject{}, made: true})
	}
	switch {
	case len(parts) == 1:
		o[i].value, o[i].made = value, false
	case o[i].made:
		o[i].value = modelSet(o[i].value.(modelObject), parts[1:], value)
	}
	return o
}

// fieldsGen makes documents and lists of fields of few names, so that they meet.
type fieldsGen struct{ *rand.Rand }

func (g fieldsGen) name() string {
	return []string{"a", "b", "é", "0", "1", "+1", "01", "-0", "c.d", `"`, "a]", "_id", "x{"}[g.IntN(13)]
}

func (g fieldsGen) value(depth int) string {
	var parts []string
	switch n := g.IntN(4); {
	case depth == 0 || n == 0:
		return []string{"null", "true", "1", "-2.5", `"\"\\"`, `"]}"`, "{}", "[]", `"12345678"`}[g.IntN(9)]
	case n == 1:
		for range g.IntN(4) {
			parts = append(parts, g.value(depth-1))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	var names []string
	for range g.IntN(6) {
		if name := g.name(); !slices.Contains(names, name) {
			names = append(names, name)
			parts = append(parts, string(ejson.AppendString(nil, name))+":"+g.value(depth-1))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// path is usually one to a value that is there.
func (g fieldsGen) path(v any) (parts []string) {
	for len(parts) == 0 || g.IntN(3) > 0 && len(parts) < 6 {
		name := g.name()
		switch at := v.(type) {
		case modelObject:
			if len(at) > 0 && g.IntN(8) > 0 {
				m := at[g.IntN(len(at))]
				name, v = m.name, m.value
			}
		case []any:
			if len(at) > 0 && g.IntN(8) > 0 {
				n := g.IntN(len(at))
				name, v = strconv.Itoa(n), at[n]
			}
		}
		parts = append(parts, name)
	}
	return parts
}

// TestFieldsModel: what is shown of a document whose text is passed through is what the model shows
// of the decoded one, whether its members come in one object or in two.
func TestFieldsModel(t *testing.T) {
	g := fieldsGen{rand.New(rand.NewPCG(1, 2))}
	several := 0
	for range 20_000 {
		doc, isObject := modelOf(parseJSON(t, g.value(4))).(modelObject)
		if !isObject {
			continue
		}
		var names []string
		want := modelObject{}
		for range 1 + g.IntN(5) {
			parts := g.path(doc)
			names = append(names, strings.ReplaceAll(strings.Join(parts, "\x00"), ".", `\.`))
			names[len(names)-1] = strings.ReplaceAll(names[len(names)-1], "\x00", ".")
			if value, ok := modelGet(doc, parts); ok {
				want = modelSet(want, parts, value)
			}
		}
		cut := g.IntN(len(doc) + 1)
		got, err := FieldsOf(names...).AppendJSON(nil, []byte(modelText(doc[:cut])), []byte(modelText(doc[cut:])))
		if err != nil || string(got) != modelText(want) {
			t.Fatalf("%q of %s: %s, %v, want %s", names, modelText(doc), got, err, modelText(want))
		}
		if len(want) > 1 {
			several++
		}
	}
	if several < 1000 {
		t.Errorf("only %d documents showed more than one field", several)
	}
}
