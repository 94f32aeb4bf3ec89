package patch

import (
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// Pointer is a JSON Pointer (RFC 6901): names of members and numbers of elements on the way to a
// value. The empty one is the document itself.
type Pointer []string

// ParsePointer reads a pointer of at most MaxDepth steps; the error is a compat.Error with status
// 400.
func ParsePointer(text string) (Pointer, error) {
	if text == "" {
		return nil, nil
	}
	if text[0] != '/' || strings.Count(text, "/") > MaxDepth {
		return nil, notPointer(text)
	}
	tokens := strings.Split(text[1:], "/")
	for i, token := range tokens {
		escapes := strings.Count(token, "~")
		if escapes == 0 {
			continue
		}
		if strings.Count(token, "~0")+strings.Count(token, "~1") != escapes {
			return nil, notPointer(text)
		}
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
	}
	return tokens, nil
}

// notPointer cuts what it shows of a long text.
func notPointer(text string) error {
	return compat.NewError(compat.KindBadRequest, short(text)+" is not a JSON Pointer of at most "+
		strconv.Itoa(MaxDepth)+" steps")
}

// String is the text of the pointer.
func (p Pointer) String() string {
	var b strings.Builder
	for _, token := range p {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// Get finds the value that the pointer names in v.
func (p Pointer) Get(v ejson.Value) (found ejson.Value, ok bool) {
	for _, token := range p {
		switch v.Kind() {
		case ejson.Object:
			if v, ok = v.Get(token); !ok {
				return v, false
			}
		case ejson.Array:
			n, ok := index(token)
			if !ok || n >= v.Len() {
				return ejson.Value{}, false
			}
			children := v.Children()
			for range n {
				children.Next()
			}
			v, _ = children.Next()
		default:
			return ejson.Value{}, false
		}
	}
	return v, true
}

// index reads the number of an element: digits, of which only 0 begins with 0.
func index(token string) (n int, ok bool) {
	if token == "" || len(token) > 10 || token[0] == '0' && token != "0" {
		return 0, false
	}
	for _, c := range []byte(token) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// short is a text for a reason, cut if it is long.
func short(text string) string {
	const most = 200
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
