package functions

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// found is a value in an object or array, and where.
type found struct {
	path    string
	last    string // the name of the member, or the number of the element in its brackets
	value   datum.Value
	element bool // of an array
}

// pathOptions are the last argument of OBJECT_PATHS and OBJECT_PAIRS_NESTED.
type pathOptions struct {
	composites bool // arrays and objects among what is found
	star       bool // one path for all elements of an array
	unique     bool // each path once
	names      bool // the last name of a path in place of it
	types      bool // the types of values in place of them
	pattern    *regexp.Regexp
	fields     bool // the pattern is for single names, not for paths
}

// readPaths reads the options; an object may leave all of them out. ok is false for a pattern that is none.
func readPaths(c Caller, args []datum.Value, o pathOptions) (_ pathOptions, ok bool) {
	if len(args) < 2 {
		return o, true
	}
	flag := func(name string, otherwise bool) bool {
		switch v := args[1].Field(name); v.Kind {
		case datum.KindTrue, datum.KindFalse:
			return v.Kind == datum.KindTrue
		}
		return otherwise
	}
	text := func(name string) string { v := args[1].Field(name); return v.Text }
	o.composites = flag("composites", o.composites)
	o.star = !flag("arraysubscript", !o.star)
	o.unique = flag("unique", o.unique)
	o.types = flag("types", o.types)
	o.names, o.fields = text("report") == "field", text("patternspace") == "field"
	pattern := text("pattern")
	if pattern == "" {
		return o, true
	}
	if !flag("regex", true) {
		pattern = regexp.QuoteMeta(pattern)
	}
	if flag("exact", false) {
		pattern = "^(?:" + pattern + ")$"
	}
	if flag("ignorecase", false) {
		pattern = "(?i)" + pattern
	}
	o.pattern = c.Patterns().find(pattern, strings.Repeat(" ", 1<<10))
	return o, o.pattern != nil
}

// matches reports whether the pattern finds something in a path, or in one of its names.
func (o *pathOptions) matches(path string) bool {
	if o.pattern == nil || !o.fields {
		return o.pattern == nil || o.pattern.MatchString(path)
	}
	quoted := false
	names := strings.FieldsFunc(path, func(r rune) bool {
		quoted = quoted != (r == '`')
		return r == '.' && !quoted
	})
	return slices.ContainsFunc(names, o.pattern.MatchString)
}

// walkPaths gives the values in an object or array that options ask for, however deep, in the order of their
// paths. It is no recursion, so that no document overflows the stack. The memory of all paths is asked for,
// also of those that are not wanted: deep in a document they are long.
func walkPaths(c Caller, of datum.Value, o *pathOptions, elements bool) (list []found, err error) {
	size := 0
	for open := []found{{value: of}}; len(open) > 0; {
		in := open[len(open)-1]
		open = open[:len(open)-1]
		inside := o.inside(&in)
		for _, f := range inside {
			if size += len(f.path) + datum.ValueSize; size > datum.MaxValueSize {
				return nil, datum.ErrTooLarge
			}
			leaf := f.value.Kind < datum.KindArray
			shown := elements || !f.element || leaf && !o.composites
			if shown && (leaf || o.composites) && o.matches(f.path) {
				list = append(list, f)
			}
		}
		if err := c.Room(int64(size)); err != nil {
			return nil, err
		}
		open = append(open, inside...)
	}
	slices.SortStableFunc(list, func(a, b found) int { return cmp.Compare(a.path, b.path) })
	if o.unique {
		list = slices.CompactFunc(list, func(a, b found) bool { return a.path == b.path })
	}
	return list, nil
}

// inside are the values directly in another one. With star the elements of an array have its path, and what
// is in them [*] after it.
func (o *pathOptions) inside(in *found) (list []found) {
	if in.value.Kind == datum.KindArray {
		for i, v := range in.value.Elements() {
			f := found{path: in.path, last: fmt.Sprintf("[%d]", i), value: v, element: true}
			if !o.star {
				f.path += f.last
			}
			list = append(list, f)
		}
		return list
	}
	prefix := in.path
	switch {
	case in.element && o.star:
		prefix += "[*]."
	case prefix != "":
		prefix += "."
	}
	for _, m := range in.value.Fields() {
		name := m.Name
		if strings.ContainsAny(name, " \t.`") {
			name = "`" + strings.ReplaceAll(name, "`", `\u0060`) + "`"
		}
		list = append(list, found{path: prefix + name, last: name, value: m.Value})
	}
	return list
}

// ofPaths is a function of an object or array and of options.
func ofPaths(o pathOptions, elements bool, each func(o *pathOptions, f *found) datum.Value) Function {
	return Function{least: 1, most: 2, call: func(c Caller, args []datum.Value) (datum.Value, error) {
		o, ok := readPaths(c, args, o)
		if !ok || args[0].Kind < datum.KindArray || len(args) > 1 && args[1].Kind != datum.KindObject {
			return datum.Null, nil
		}
		list, err := walkPaths(c, args[0], &o, elements)
		values := make([]datum.Value, len(list))
		for i := range list {
			values[i] = each(&o, &list[i])
		}
		return datum.Array(values), err
	}}
}

func registerPaths() {
	register(ofPaths(pathOptions{composites: true, unique: true}, false, func(_ *pathOptions, f *found) datum.Value {
		return datum.Text(f.path)
	}), "OBJECT_PATHS")
	register(ofPaths(pathOptions{}, true, func(o *pathOptions, f *found) datum.Value {
		name := f.path
		if o.names {
			name = f.last
		}
		return pair(name, &f.value, o.types)
	}), "OBJECT_PAIRS_NESTED")
}

// pair is a member of an object as OBJECT_PAIRS and its like have it: its name, and its value or type.
func pair(name string, v *datum.Value, types bool) datum.Value {
	members := []datum.Member{{Name: "name", Value: datum.Text(name)}, {Name: "val", Value: *v}}
	if types {
		members[1] = datum.Member{Name: "type", Value: datum.Text(datum.KindNames[v.Kind])}
	}
	return datum.Object(members...)
}
