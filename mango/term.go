package mango

import (
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// term prints a JSON value as io_lib's ~w prints the term jiffy makes of it: {[{<<97>>,1}]}.
func term(v ejson.Value) string { return string(appendTerm(nil, v)) }

// prettyTerm prints a JSON value as ~p prints it after prefix on the same line: printable strings as text, in lines.
func prettyTerm(prefix string, v ejson.Value) string {
	return prefix + compat.BreakTerm(compat.ErlangTerm(v), len(prefix)-strings.LastIndexByte(prefix, '\n'))
}

// openTerm is an array or object whose end is not printed yet.
type openTerm struct {
	children ejson.Cursor
	object   bool
	printed  int
}

func appendTerm(dst []byte, v ejson.Value) []byte {
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
			dst = appendBinary(dst, v.Text())
		case ejson.Double:
			f, _ := v.Float()
			dst = compat.AppendErlangFloat(dst, f)
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

func appendBinary(dst []byte, s string) []byte {
	dst = append(dst, "<<"...)
	for i := range len(s) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, uint64(s[i]), 10)
	}
	return append(dst, ">>"...)
}
