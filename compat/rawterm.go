package compat

import (
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
)

// RawTerm prints a JSON value as io_lib's ~w prints the term jiffy makes of it: {[{<<97>>,1}]}.
func RawTerm(v ejson.Value) string { return string(AppendRawTerm(nil, v)) }

// openTerm is an array or object whose end is not printed yet.
type openTerm struct {
	children ejson.Cursor
	object   bool
	printed  int
}

// AppendRawTerm appends RawTerm of a value, nested however deep.
func AppendRawTerm(dst []byte, v ejson.Value) []byte {
	var open []openTerm
	for {
		switch v.Kind() {
		case ejson.Array:
			dst = append(dst, '[')
			open = append(open, openTerm{children: v.Children()})
		case ejson.Object:
			dst = append(dst, "{["...)
			open = append(open, openTerm{children: v.Children(), object: true})
		case ejson.String:
			dst = AppendRawBinary(dst, v.Text())
		case ejson.Double:
			f, _ := v.Float()
			dst = AppendErlangFloat(dst, f)
		default:
			dst = v.AppendJSON(dst)
		}
		for more := false; !more; {
			if len(open) == 0 {
				return dst
			}
			top := &open[len(open)-1]
			if v, more = top.children.Next(); more {
				dst = top.separate(dst)
				continue
			}
			dst = top.end(dst)
			open = open[:len(open)-1]
		}
	}
}

// separate prints what is between two children: a member is a tuple of name and value.
func (t *openTerm) separate(dst []byte) []byte {
	named := t.object && t.printed%2 == 1
	switch {
	case named:
		dst = append(dst, ',')
	case t.object && t.printed > 0:
		dst = append(dst, "},{"...)
	case t.object:
		dst = append(dst, '{')
	case t.printed > 0:
		dst = append(dst, ',')
	}
	t.printed++
	return dst
}

func (t *openTerm) end(dst []byte) []byte {
	switch {
	case !t.object:
		return append(dst, ']')
	case t.printed > 0:
		return append(dst, "}]}"...)
	}
	return append(dst, "]}"...)
}

// AppendRawBinary appends a text as ~w prints it as a binary: <<97>>.
func AppendRawBinary(dst []byte, s string) []byte {
	dst = append(dst, "<<"...)
	for i := range len(s) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, uint64(s[i]), 10)
	}
	return append(dst, ">>"...)
}
