package stringify

import (
	"bytes"
	"strconv"

	"github.com/dop251/goja/ftoa"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js/script"
)

const (
	// MaxSafeInteger is the largest integer that a JavaScript number holds with all its neighbours.
	MaxSafeInteger = 1<<53 - 1
	// MaxDepth bounds the nesting of values that enter or leave a realm.
	MaxDepth = 10000
)

// IsDeep reports whether a value is nested more than MaxDepth deep, that so many others are around.
func IsDeep(v ejson.Value, around int) bool {
	kind := v.Kind()
	if kind != ejson.Object && kind != ejson.Array {
		return false
	}
	if around >= MaxDepth {
		return true
	}
	if values, _ := v.Count(); values <= MaxDepth-around {
		return false
	}
	for child := range v.Elements() {
		if IsDeep(child, around+1) {
			return true
		}
	}
	for _, child := range v.Members() {
		if IsDeep(child, around+1) {
			return true
		}
	}
	return false
}

// Document is a document whose text is what JSON.stringify makes of it: the document itself, or one
// in which numbers have other digits, as 12 has for 12.0, which parser has read. ok is false where
// that is less than certain.
func Document(doc ejson.Value, parser *ejson.Parser) (_ ejson.Value, ok bool, err error) {
	if !doc.Canonical() {
		return doc, false, nil
	}
	if printsAsIs(doc, 1) {
		return doc, true, nil
	}
	text, ok := appendAsPrinted(make([]byte, 0, len(doc.Raw())), doc, 1)
	if !ok {
		return doc, false, nil
	}
	doc, err = parser.Parse(text)
	return doc, err == nil, err
}

// appendAsPrinted appends what JSON.stringify makes of a value with a canonical text; ok is false
// where only numbers with a point or an exponent do not tell.
func appendAsPrinted(dst []byte, v ejson.Value, depth int) (_ []byte, ok bool) {
	kind := v.Kind()
	if kind == ejson.Double && !doublePrintsAsIs(v.Raw()) {
		f, err := strconv.ParseFloat(string(v.Raw()), 64)
		if err != nil { // it is infinite
			return dst, false
		}
		return appendNumber(dst, f), true
	}
	if kind != ejson.Array && kind != ejson.Object {
		return append(dst, v.Raw()...), printsAsIs(v, depth)
	}
	if depth > MaxDepth {
		return dst, false
	}
	brackets := "[]"
	if kind == ejson.Object {
		brackets = "{}"
	}
	dst = append(dst, brackets[0])
	begin := len(dst)
	next := func() {
		if len(dst) > begin {
			dst = append(dst, ',')
		}
	}
	for child := range v.Elements() {
		next()
		if dst, ok = appendAsPrinted(dst, child, depth+1); !ok {
			return dst, false
		}
	}
	for name, child := range v.Members() {
		if raw := name.Raw(); script.IsIndexLike(raw[1:]) || !printsAsIs(name, depth) {
			return dst, false
		}
		next()
		dst = append(append(dst, name.Raw()...), ':')
		if dst, ok = appendAsPrinted(dst, child, depth+1); !ok {
			return dst, false
		}
	}
	return append(dst, brackets[1]), true
}

// printsAsIs reports whether JSON.stringify makes of a value the text that it was parsed from,
// which is canonical. It says no where that is less than certain. The depth is that of v, 1 for the
// document.
func printsAsIs(v ejson.Value, depth int) bool {
	switch v.Kind() {
	case ejson.Null, ejson.Bool:
		return true
	case ejson.Int:
		const digits = 15 // so many are no more than MaxSafeInteger
		if len(v.Raw()) <= digits {
			return true
		}
		n, ok := v.Int()
		return ok && n >= -MaxSafeInteger && n <= MaxSafeInteger
	case ejson.Double:
		return doublePrintsAsIs(v.Raw())
	case ejson.String:
		// control characters have other digits
		escape := bytes.IndexByte(v.Raw(), '\\')
		return escape < 0 || !bytes.Contains(v.Raw()[escape:], []byte(`\u`))
	}
	if depth > MaxDepth {
		return false
	}
	for child := range v.Elements() {
		if !printsAsIs(child, depth+1) {
			return false
		}
	}
	for name, child := range v.Members() {
		raw := name.Raw()
		if script.IsIndexLike(raw[1:]) || !printsAsIs(name, depth) || !printsAsIs(child, depth+1) {
			return false
		}
	}
	return true
}

// doublePrintsAsIs is printsAsIs for a number with a point or an exponent. One of up to 15 digits
// is the shortest text for the double next to it.
func doublePrintsAsIs(raw []byte) bool {
	const most = 16 // with the point
	digits := bytes.TrimPrefix(raw, []byte("-"))
	if len(digits) <= most && digits[len(digits)-1] != '0' && !bytes.HasPrefix(digits, []byte("0.0")) &&
		bytes.IndexByte(digits, 'e') < 0 {
		return true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	var room [32]byte
	return err == nil && bytes.Equal(appendNumber(room[:0], f), raw)
}

// appendNumber appends the text that JavaScript has for a finite number.
func appendNumber(dst []byte, f float64) []byte {
	if f == 0 { // minus zero has no sign
		return append(dst, '0')
	}
	return ftoa.FToStr(f, ftoa.ModeStandard, 0, dst)
}
