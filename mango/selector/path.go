package selector

import (
	"math"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// Path is a field name in parts. An invalid one is only noticed when it is used.
type Path struct {
	Name  string
	Parts []string
	Valid bool
	// object stands for an element of a list of fields that is no name; it is never valid.
	Object []byte
}

// Err is the error of a path that is not valid.
func (p *Path) Err() error {
	if p.Object != nil {
		return compat.ErrBadArg
	}
	return ErrInvalidFieldName(p.Name)
}

// ParsePath splits a name at its dots. A backslash in front keeps a dot in its part; all
// backslashes are then dropped. No part may be empty (mango_util:parse_field/1).
func ParsePath(name string) Path {
	p := Path{Name: name, Valid: true}
	escaped := strings.Contains(name, `\`)
	start := 0
	for i := 0; i <= len(name); i++ {
		if i < len(name) && (name[i] != '.' || escaped && i > 0 && name[i-1] == '\\') {
			continue
		}
		part := name[start:i]
		start = i + 1
		if part == "" {
			p.Valid = false
		}
		p.Parts = append(p.Parts, strings.ReplaceAll(part, `\`, ""))
	}
	return p
}

// Lookup says how the search for a field in a document ended.
type Lookup uint8

const (
	FoundValue   Lookup = iota // there is a value
	foundNothing               // the last object reached has no such member
	foundBadPath               // a scalar, or no such element of an array
)

// Get looks the field up (mango_doc:get_field/2): parts are names of members, or in arrays numbers
// from 0.
func (p *Path) Get(v ejson.Value) (ejson.Value, Lookup, error) {
	if !p.Valid {
		return v, foundBadPath, p.Err()
	}
	for _, part := range p.Parts {
		switch v.Kind() {
		case ejson.Object:
			member, ok := v.Get(part)
			if !ok {
				return v, foundNothing, nil
			}
			v = member
		case ejson.Array:
			element, ok := elementAt(v, part)
			if !ok {
				return v, foundBadPath, nil
			}
			v = element
		default:
			return v, foundBadPath, nil
		}
	}
	return v, FoundValue, nil
}

// elementAt finds the element whose number a part is.
func elementAt(array ejson.Value, text string) (ejson.Value, bool) {
	index, ok := elementNumber(text)
	if !ok || index >= array.Len() {
		return ejson.Value{}, false
	}
	children := array.Children()
	for range index {
		children.Next()
	}
	return children.Next()
}

// maxElement is more than any array has elements.
const maxElement = math.MaxInt32

// elementNumber reads the number of an element as list_to_integer/1 reads it: a sign and digits.
func elementNumber(text string) (n int, ok bool) {
	negative := strings.HasPrefix(text, "-")
	if negative || strings.HasPrefix(text, "+") {
		text = text[1:]
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = min(n*10+int(text[i]-'0'), maxElement)
	}
	return n, text != "" && !(negative && n > 0)
}
