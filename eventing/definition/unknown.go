package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

const (
	// mostUnknown is how many unknown names are told of one function, and mostName how many
	// characters of each: a request may have millions.
	mostUnknown = 20
	mostName    = 100
)

// unknownMembers names the members of a JSON object, and of the objects in it, for which a type has
// no fields, by their paths: depcfg.buckets[0].acces. It is one more than mostUnknown at most. What a type takes as
// it is (json.RawMessage) is not looked into. text is valid JSON.
func unknownMembers(text []byte, of reflect.Type) (paths []string) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var walk func(of reflect.Type, path string)
	walk = func(of reflect.Type, path string) {
		switch token, _ := decoder.Token(); token {
		case json.Delim('{'):
			for decoder.More() {
				name, _ := decoder.Token()
				member := strings.TrimPrefix(fmt.Sprintf("%.*s.%.*s", mostName, path, mostName, name), ".")
				field, known := memberType(of, name)
				if !known && len(paths) <= mostUnknown {
					paths = append(paths, member)
				}
				walk(field, member)
			}
			_, _ = decoder.Token()
		case json.Delim('['):
			var element reflect.Type
			if of != nil && of.Kind() == reflect.Slice {
				element = of.Elem()
			}
			for i := 0; decoder.More(); i++ {
				walk(element, fmt.Sprintf("%s[%d]", path, i))
			}
			_, _ = decoder.Token()
		}
	}
	walk(of, "")
	return paths
}

// memberType is the type of what a member of a JSON object is read into, nil where nothing is known of it. A
// type that is no struct knows all members. Names are compared as encoding/json does.
func memberType(of reflect.Type, name json.Token) (field reflect.Type, known bool) {
	if of == nil || of.Kind() != reflect.Struct {
		return nil, true
	}
	for i := range of.NumField() {
		tag, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if text, ok := name.(string); ok && strings.EqualFold(tag, text) {
			return of.Field(i).Type, true
		}
	}
	return nil, false
}

// notStored are warnings of names that nothing here has, in their order, with why where that is known.
func notStored(what string, names []string, why func(name string) string) (list []string) {
	for i, name := range slices.Sorted(slices.Values(names)) {
		if i == mostUnknown {
			return append(list, "there are more names of no "+what)
		}
		list = append(list, fmt.Sprintf("there is no %s %.*s: it is not stored%s", what, mostName, name, why(name)))
	}
	return list
}

// Unknown names the members that were sent and that neither a function nor its settings have. Nothing of
// them is stored.
func (f *Function) Unknown() []string {
	return slices.Concat(f.unknown, f.Settings.unknown)
}

// Warnings tell what was sent and does nothing: members that a function does not have, and settings
// that have no effect and differ from the default.
func (f *Function) Warnings() []string {
	none := func(string) string { return "" }
	return append(notStored("member", f.unknown, none), f.Settings.Warnings()...)
}
