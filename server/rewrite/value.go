package rewrite

import (
	"math/big"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// value is a value of the new query before it becomes text.
type value struct {
	kind valueKind
	text string      // textValue, charsValue; the digits of intValue
	json ejson.Value // rawValue
	list []value     // listValue
}

type valueKind uint8

const (
	textValue  valueKind = iota // a binary
	charsValue                  // a list of characters, which is what a text becomes that its format does not fit
	intValue
	rawValue  // JSON that is no text
	listValue // an array with variables replaced
)

func jsonValue(v ejson.Value) value {
	if v.Kind() == ejson.String {
		return value{text: v.Text()}
	}
	return value{kind: rawValue, json: v}
}

// bytes is iolist_to_binary; ok is false where that is a crash. A text longer than MaxTarget is cut
// somewhere after it.
func (v value) bytes() (text string, ok bool) {
	switch v.kind {
	case textValue, charsValue:
		return v.text, true
	case intValue:
		return "", false
	case rawValue:
		if v.json.Kind() != ejson.Array {
			return "", false
		}
	}
	var b strings.Builder
	ok = v.appendBytes(&b, 0)
	return b.String(), ok
}

const maxDepth = 100

// appendBytes writes a value as Erlang's iolist_to_binary would: texts as they are, integers from 0
// to 255 as bytes, lists element by element. False means that Erlang would raise badarg. Nesting is
// cut at maxDepth, since rules come from users.
func (v value) appendBytes(b *strings.Builder, depth int) bool {
	switch {
	case depth > maxDepth:
		return false
	case v.kind == textValue, v.kind == charsValue:
		b.WriteString(v.text)
		return true
	case v.kind == intValue:
		n, ok := new(big.Int).SetString(v.text, 10)
		return ok && writeByte(b, n)
	case v.kind == listValue:
		for _, e := range v.list {
			if b.Len() > MaxTarget {
				break
			}
			if !e.appendBytes(b, depth+1) {
				return false
			}
		}
		return true
	case v.json.Kind() == ejson.Array:
		for e := range v.json.Elements() {
			if !jsonValue(e).appendBytes(b, depth+1) {
				return false
			}
		}
		return true
	}
	n, ok := v.json.Int()
	return ok && writeByte(b, big.NewInt(n))
}

// writeByte writes a number of a list as a byte, as Erlang's iolists have it; false for what is
// none.
func writeByte(b *strings.Builder, n *big.Int) bool {
	if !n.IsInt64() || n.Int64() < 0 || n.Int64() > 255 {
		return false
	}
	b.WriteByte(byte(n.Int64()))
	return true
}

// appendJSON is ?JSON_ENCODE. A text longer than MaxTarget is cut somewhere after it.
func (v value) appendJSON(dst []byte) []byte {
	switch v.kind {
	case textValue:
		return ejson.AppendString(dst, v.text)
	case charsValue:
		dst = append(dst, '[')
		for i := range len(v.text) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = big.NewInt(int64(v.text[i])).Append(dst, 10)
		}
		return append(dst, ']')
	case intValue:
		return append(dst, v.text...)
	case listValue:
		dst = append(dst, '[')
		for i, e := range v.list {
			if len(dst) > MaxTarget {
				break
			}
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.appendJSON(dst)
		}
		return append(dst, ']')
	}
	return v.json.AppendJSON(dst)
}

// isJSONOption tells the options whose values are JSON texts.
func isJSONOption(name string) bool {
	switch name {
	case "key", "startkey", "start_key", "endkey", "end_key", "keys":
		return true
	}
	return false
}

// formatted converts a value as `formats` of a rule asks for (chttpd_rewrite:format). A text that
// does not fit becomes a list of characters, which in a key is an array of numbers.
func formatted(v value, format string) value {
	text, isText := v.text, v.kind == textValue || v.kind == charsValue
	if !isText {
		return v
	}
	switch format {
	case "int":
		if n, ok := parseInteger(text); ok {
			return value{kind: intValue, text: n}
		}
	case "bool":
		if lower := strings.ToLower(text); lower == "true" || lower == "false" {
			b, _ := ejson.Parse([]byte(lower))
			return jsonValue(b)
		}
	default:
		return v
	}
	return value{kind: charsValue, text: text}
}

// parseInteger is list_to_integer/1; the result is canonical.
func parseInteger(text string) (string, bool) {
	digits := strings.TrimPrefix(text, "-")
	if digits == text {
		digits = strings.TrimPrefix(text, "+")
	}
	if digits == "" || strings.Trim(digits, "0123456789") != "" || len(digits) > 1000 {
		return "", false
	}
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return "", false
	}
	return n.String(), true
}

// queryValue reads a value of the request's query (chttpd_rewrite:decode_query_value).
func queryValue(p compat.Param) (value, error) {
	if !isJSONOption(p.Name) {
		return value{text: p.Value}, nil
	}
	v, err := ejson.Parse([]byte(p.Value))
	if err != nil {
		return value{}, compat.ErrInvalidJSON
	}
	return jsonValue(v), nil
}
