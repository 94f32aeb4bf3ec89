package patch

import (
	"bytes"
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

// notPointer is the error of a text that is no pointer; a long text is cut.
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

// Find finds the value that the pointer names in the text of a document as ejson prints it, and
// gives its text, a part of that one. What is not on the way is passed over.
func (p Pointer) Find(text []byte) (found []byte, ok bool) {
	for _, token := range p {
		if text, ok = child(text, token); !ok {
			return nil, false
		}
	}
	return text, true
}

// child is the member or element of the text of a value that a token names.
func child(text []byte, token string) (found []byte, ok bool) {
	name := ejson.AppendString(nil, token)
	for member, value := range ejson.TextMembers(text) {
		if bytes.Equal(member, name) {
			return value, true
		}
	}
	n, ok := index(token)
	if !ok {
		return nil, false
	}
	for element := range ejson.TextElements(text) {
		if n == 0 {
			return element, true
		}
		n--
	}
	return nil, false
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

// short cuts a long text for an error's reason.
func short(text string) string {
	const most = 200
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
