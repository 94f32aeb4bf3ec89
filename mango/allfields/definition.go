package allfields

import (
	"slices"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Language is the language of design documents that define indexes, Member the member that does;
// the others are those of a definition.
const (
	Language      = "query"
	Member        = "auto"
	MemberExclude = "exclude"
	MemberDepth   = "depth"
	MemberValues  = "max_values"
)

// Bounds of what definitions may ask for, and what they have where they say nothing.
const (
	DefaultDepth, MaxDepth   = 5, 20
	DefaultValues, MaxValues = 5000, 50_000
)

// Definition is one index over all fields, as a design document has it.
type Definition struct {
	DesignDoc string // its id
	Name      string
	// Paths that are not indexed, nor anything below them. Each is a list of member names.
	Exclude [][]string
	Depth   int // the greatest number of member names of a path
	Values  int // the greatest number of entries of a document that is broken down
}

// ParseDefinitions reads those of a design document, in its order. What is malformed defines
// nothing.
func ParseDefinitions(id string, body ejson.Value, split func(field string) ([]string, bool)) []Definition {
	language, _ := body.Get("language")
	indexes, _ := body.Get(Member)
	if !language.TextIs(Language) || indexes.Kind() != ejson.Object {
		return nil
	}
	var list []Definition
	for name, v := range indexes.Members() {
		if v.Kind() != ejson.Object {
			continue
		}
		d := Definition{DesignDoc: id, Name: name.Text(), Depth: bounded(v, MemberDepth, DefaultDepth, MaxDepth)}
		d.Values = bounded(v, MemberValues, DefaultValues, MaxValues)
		exclude, _ := v.Get(MemberExclude)
		for field := range exclude.Elements() {
			if parts, ok := split(field.Text()); ok {
				d.Exclude = append(d.Exclude, parts)
			}
		}
		list = append(list, d)
	}
	return list
}

// bounded reads a member that is a number from 1 to most; anything else is the default.
func bounded(v ejson.Value, name string, otherwise, most int) int {
	found, _ := v.Get(name)
	if n, ok := found.Int(); ok && n > 0 {
		return int(min(n, int64(most)))
	}
	return otherwise
}

// Covers reports whether documents' values at a path, and at an element of the array there, are
// entries.
func (d *Definition) Covers(path []string) bool {
	if len(path) == 0 || len(path) > d.Depth || len(appendPath(nil, path)) > maxPath {
		return false
	}
	return !slices.ContainsFunc(d.Exclude, func(e []string) bool {
		return len(e) <= len(path) && slices.Equal(e, path[:len(e)])
	})
}

func (d *Definition) excluded() [][]byte {
	keys := make([][]byte, len(d.Exclude))
	for i, path := range d.Exclude {
		keys[i] = appendPath(nil, path)
	}
	return keys
}

func (d *Definition) equal(o *Definition) bool {
	return d.DesignDoc == o.DesignDoc && d.Name == o.Name && d.Depth == o.Depth && d.Values == o.Values &&
		slices.EqualFunc(d.Exclude, o.Exclude, slices.Equal)
}

// appendDefinition and readDefinition are the form in the registry: tuples.
func appendDefinition(dst []byte, d *Definition) []byte {
	dst = tuple.AppendString(tuple.AppendString(dst, d.DesignDoc), d.Name)
	dst = tuple.AppendInt(tuple.AppendInt(dst, int64(d.Depth)), int64(d.Values))
	dst = tuple.AppendInt(dst, int64(len(d.Exclude)))
	for _, path := range d.Exclude {
		dst = tuple.AppendBytes(dst, appendPath(nil, path))
	}
	return dst
}

// readDefinition reads what appendDefinition has written and gives the rest.
func readDefinition(src []byte) (d Definition, rest []byte, err error) {
	if d.DesignDoc, rest, err = tuple.ReadString(src); err != nil {
		return d, nil, err
	}
	if d.Name, rest, err = tuple.ReadString(rest); err != nil {
		return d, nil, err
	}
	var numbers [3]int64
	for i := range numbers {
		if numbers[i], rest, err = tuple.ReadInt(rest); err != nil {
			return d, nil, err
		}
	}
	d.Depth, d.Values = int(numbers[0]), int(numbers[1])
	for range numbers[2] {
		var path []byte
		if path, rest, err = tuple.ReadBytes(rest); err != nil {
			return d, nil, err
		}
		var parts []string
		for len(path) > 0 {
			var part string
			if part, path, err = tuple.ReadString(path); err != nil {
				return d, nil, err
			}
			parts = append(parts, part)
		}
		d.Exclude = append(d.Exclude, parts)
	}
	return d, rest, nil
}
