package params

import (
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// Value is the value of an option: the text of a query, or JSON of a body.
type Value struct {
	Text string      // of the query, or of a JSON string
	JSON ejson.Value // of kind Invalid for a query
}

// IsText reports whether v is text rather than another kind of JSON.
func (v Value) IsText() bool {
	return v.JSON.Kind() == ejson.Invalid || v.JSON.Kind() == ejson.String
}

// Word is the text, or true or false for a JSON boolean, or "" for other JSON.
func (v Value) Word() string {
	if v.JSON.Kind() == ejson.Bool {
		return string(v.JSON.Raw())
	}
	return v.Text
}

// Plain is the value as couch_util:to_binary makes it.
func (v Value) Plain() *string {
	text := v.Text
	if !v.IsText() {
		text = compat.ErlangTerm(v.JSON)
	}
	return &text
}

// Boolean reads true or false, of a query in any case.
func (v Value) Boolean() (bool, error) {
	if b, ok := v.JSON.Bool(); ok {
		return b, nil
	}
	if !v.IsText() {
		return false, compat.NewError(compat.KindQueryParse, "Invalid boolean parameter: "+compat.ErlangTerm(v.JSON))
	}
	switch strings.ToLower(v.Text) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, compat.NewError(compat.KindQueryParse, "Invalid boolean parameter: "+compat.ErlangString(v.Text))
}

// Natural is a number from 0 on; text of a body is not taken for one.
func (v Value) Natural() (int64, error) {
	text, shown := "", ""
	switch v.JSON.Kind() {
	case ejson.Invalid:
		text, shown = v.Text, compat.ErlangString(v.Text)
	case ejson.Int:
		text = string(v.JSON.Raw())
		shown = text
	default:
		shown = compat.ErlangTerm(v.JSON)
	}
	n, ok := compat.ErlangInteger(text)
	switch {
	case !ok:
		return 0, compat.NewError(compat.KindQueryParse, "Invalid value for integer: "+shown)
	case n < 0:
		return 0, compat.NewError(compat.KindQueryParse, "Invalid value for positive integer: "+shown)
	}
	return n, nil
}

// ParseJSON reads the value of an option whose text is JSON, such as a key.
func ParseJSON(text string) (ejson.Value, error) {
	v, err := ejson.Parse([]byte(text))
	if err != nil {
		return ejson.Value{}, compat.ErrInvalidJSON
	}
	return v, nil
}
