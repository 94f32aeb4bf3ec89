package functions

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// onText is a function of strings: of other arguments it is NULL.
func onText(least, most int, call func(args []datum.Value) datum.Value) Function {
	return pure(least, most, func(args []datum.Value) datum.Value {
		for i := range args {
			if args[i].Kind != datum.KindString {
				return datum.Null
			}
		}
		return call(args)
	})
}

// registerStrings adds the functions of strings. Lengths and positions are in bytes, as in
// Couchbase; only MB_LENGTH counts characters.
func registerStrings() {
	onOne := func(call func(string) string) Function {
		return onText(1, 1, func(args []datum.Value) datum.Value { return datum.Text(call(args[0].Text)) })
	}
	register(onOne(strings.ToLower), "LOWER")
	register(onOne(strings.ToUpper), "UPPER")
	register(onOne(reverse), "REVERSE")
	register(onText(1, 1, func(args []datum.Value) datum.Value {
		return datum.Integer(int64(len(args[0].Text)))
	}), "LENGTH")
	register(onText(1, 1, func(args []datum.Value) datum.Value {
		return datum.Integer(int64(utf8.RuneCountInString(args[0].Text)))
	}), "MB_LENGTH")
	register(onText(2, 2, func(args []datum.Value) datum.Value {
		return datum.Boolean(strings.Contains(args[0].Text, args[1].Text))
	}), "CONTAINS")
	registerPositions()
	register(trimming(strings.Trim), "TRIM")
	register(trimming(strings.TrimLeft), "LTRIM")
	register(trimming(strings.TrimRight), "RTRIM")
	register(Function{least: 1, most: 2, call: split}, "SPLIT")
	register(onOne(initials), "INITCAP", "TITLE")
	register(onOne(url.QueryEscape), "URLENCODE")
	decoded := func(decode func(string) (string, error)) Function {
		return onText(1, 1, func(args []datum.Value) datum.Value {
			s, err := decode(args[0].Text)
			if err != nil || !utf8.ValidString(s) {
				return datum.Null
			}
			return datum.Text(s)
		})
	}
	register(decoded(url.QueryUnescape), "URLDECODE")
	register(Function{least: 1, most: -1, call: Concat}, "CONCAT")
	register(Function{least: 2, most: -1, call: concatWith}, "CONCAT2", "ARRAY_TO_STRING")
	register(Function{least: 3, most: 4, call: replace}, "REPLACE")
	register(Function{least: 2, most: 2, call: repeat}, "REPEAT")
	register(Function{random: true, call: func(Caller, []datum.Value) (datum.Value, error) {
		var b [16]byte
		_, err := rand.Read(b[:])
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		return datum.Text(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])), err
	}}, "UUID")
}

// Concat joins strings; others make it NULL, MISSING makes it MISSING.
func Concat(c Caller, list []datum.Value) (datum.Value, error) {
	size, unknown := 0, datum.KindString
	for i := range list {
		switch list[i].Kind {
		case datum.KindString:
			size += len(list[i].Text)
		case datum.KindMissing:
			unknown = datum.KindMissing
		default:
			unknown = min(unknown, datum.KindNull)
		}
	}
	if unknown != datum.KindString {
		return datum.Value{Kind: unknown}, nil
	}
	if err := textRoom(c, int64(size)); err != nil {
		return datum.Value{}, err
	}
	joined := make([]byte, 0, size)
	for i := range list {
		joined = append(joined, list[i].Text...)
	}
	return datum.Text(string(joined)), nil
}

// concatWith is CONCAT2(separator, strings or arrays of them, …).
func concatWith(c Caller, args []datum.Value) (datum.Value, error) {
	var list []datum.Value
	for i, v := range args[1:] {
		of := args[i+1 : i+2]
		if v.Kind == datum.KindArray {
			of = v.Elements()
		}
		for _, s := range of {
			if len(list) > 0 {
				list = append(list, args[0])
			}
			list = append(list, s)
		}
	}
	if args[0].Kind != datum.KindString {
		return datum.Null, nil
	}
	return Concat(c, list)
}

// textRoom asks for what a string of so many bytes takes, before it is made.
func textRoom(c Caller, bytes int64) error {
	if bytes > datum.MaxValueSize {
		return datum.ErrTooLarge
	}
	return c.Room(bytes)
}

func reverse(s string) string {
	runes := []rune(s)
	for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
		runes[i], runes[j] = runes[j], runes[i]
	}
	return string(runes)
}

// registerPositions adds the functions of places in strings: in bytes, or in characters (MB_…), from 0 or
// from 1 on.
func registerPositions() {
	for prefix, characters := range map[string]bool{"": false, "MB_": true} {
		for first, suffixes := range [][]string{{"", "0"}, {"1"}} {
			position := onText(2, 2, func(args []datum.Value) datum.Value {
				at := strings.Index(args[0].Text, args[1].Text)
				if characters && at > 0 {
					at = utf8.RuneCountInString(args[0].Text[:at])
				}
				return datum.Integer(int64(at + first))
			})
			part := pure(2, 3, func(args []datum.Value) datum.Value {
				return substring(args, int64(first), characters)
			})
			var positions, parts []string
			for _, suffix := range suffixes {
				positions = append(positions, prefix+"POSITION"+suffix, prefix+"POS"+suffix)
				parts = append(parts, prefix+"SUBSTR"+suffix)
			}
			register(position, positions...)
			register(part, parts...)
		}
		register(padding(characters, func(s, pad string) string { return pad + s }), prefix+"LPAD")
		register(padding(characters, func(s, pad string) string { return s + pad }), prefix+"RPAD")
	}
	register(Function{least: 1, most: 1, call: suffixes}, "SUFFIXES")
}

// length is how many bytes or characters a string has.
func length(s string, characters bool) int64 {
	if characters {
		return int64(utf8.RuneCountInString(s))
	}
	return int64(len(s))
}

// cut is the first bytes or characters of a string, of which it has so many. A cut character is no string of
// JSON.
func cut(s string, n int64, characters bool) string {
	if !characters {
		return strings.ToValidUTF8(s[:n], "\ufffd")
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// substring is SUBSTR(string, position[, length]): counted from first on, from the end if the position is
// negative.
func substring(args []datum.Value, first int64, characters bool) datum.Value {
	if args[0].Kind != datum.KindString {
		return datum.Null
	}
	s := args[0].Text
	n := length(s, characters)
	from, ok := args[1].Int()
	switch {
	case from < 0:
		from += n
	case from > 0:
		from -= first
	}
	if !ok || from < 0 || from >= n {
		return datum.Null
	}
	left := n - from
	if len(args) > 2 {
		most, ok := args[2].Int()
		if !ok || most < 0 {
			return datum.Null
		}
		left = min(left, most)
	}
	if characters {
		s = s[len(cut(s, from, true)):]
	} else {
		s = s[from:]
	}
	return datum.Text(cut(s, left, characters))
}

// suffixes is SUFFIXES(string): what is left from each character on.
func suffixes(c Caller, args []datum.Value) (datum.Value, error) {
	if args[0].Kind != datum.KindString {
		return datum.Null, nil
	}
	s := args[0].Text
	if err := c.Room(int64(len(s)) * (int64(len(s))/2 + datum.ValueSize)); err != nil { // as if they were copies
		return datum.Value{}, err
	}
	list := []datum.Value{}
	for i := range s {
		list = append(list, datum.Text(s[i:]))
	}
	return datum.Array(list), nil
}

// trimming is a function of a string and of the characters to be removed from its ends.
func trimming(trim func(s, cutset string) string) Function {
	return onText(1, 2, func(args []datum.Value) datum.Value {
		cutset := " \t\n\f\r"
		if len(args) > 1 {
			cutset = args[1].Text
		}
		return datum.Text(trim(args[0].Text, cutset))
	})
}

// split is SPLIT(string[, separator]); without a separator it is blanks.
func split(c Caller, args []datum.Value) (datum.Value, error) {
	for i := range args {
		if args[i].Kind != datum.KindString {
			return datum.Null, nil
		}
	}
	most := len(args[0].Text) / 2
	if len(args) > 1 {
		most = strings.Count(args[0].Text, args[1].Text)
	}
	if err := room(c, float64(most)); err != nil {
		return datum.Value{}, err
	}
	parts := strings.Fields(args[0].Text)
	if len(args) > 1 {
		parts = strings.Split(args[0].Text, args[1].Text)
	}
	list := make([]datum.Value, len(parts))
	for i, part := range parts {
		list[i] = datum.Text(part)
	}
	return datum.Array(list), nil
}

// initials makes the first letter of each word a capital one and the others small.
func initials(s string) string {
	inWord := false
	return strings.Map(func(r rune) rune {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		first := letter && !inWord
		if inWord = letter; first {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, s)
}

// padding is a function of a string, the number of bytes or characters that it shall have, and what it is
// filled up with. A longer string is cut.
func padding(characters bool, join func(s, pad string) string) Function {
	return Function{least: 2, most: 3, call: func(c Caller, args []datum.Value) (datum.Value, error) {
		fill := " "
		if len(args) > 2 {
			if fill = args[2].Text; args[2].Kind != datum.KindString || fill == "" {
				return datum.Null, nil
			}
		}
		size, ok := args[1].Int()
		s := args[0].Text
		missing := size - length(s, characters)
		switch {
		case !ok || size < 0 || args[0].Kind != datum.KindString:
			return datum.Null, nil
		case missing <= 0:
			return datum.Text(cut(s, size, characters)), nil
		case missing > datum.MaxValueSize:
			return datum.Value{}, datum.ErrTooLarge
		}
		times := missing/length(fill, characters) + 1
		if err := textRoom(c, int64(len(s))+times*int64(len(fill))); err != nil {
			return datum.Value{}, err
		}
		pad := cut(strings.Repeat(fill, int(times)), missing, characters)
		return datum.Text(join(s, pad)), nil
	}}
}

// replace is REPLACE(string, old, new[, count]).
func replace(c Caller, args []datum.Value) (datum.Value, error) {
	for _, arg := range args[:3] {
		if arg.Kind != datum.KindString {
			return datum.Null, nil
		}
	}
	n := int64(strings.Count(args[0].Text, args[1].Text))
	if len(args) > 3 {
		most, ok := args[3].Int()
		if !ok {
			return datum.Null, nil
		}
		if most >= 0 {
			n = min(n, most)
		}
	}
	// The product cannot overflow: both factors are below 2**26.
	if err := textRoom(c, int64(len(args[0].Text))+n*int64(len(args[2].Text))); err != nil {
		return datum.Value{}, err
	}
	return datum.Text(strings.Replace(args[0].Text, args[1].Text, args[2].Text, int(n))), nil
}

// repeat is REPEAT(string, count).
func repeat(c Caller, args []datum.Value) (datum.Value, error) {
	n, ok := args[1].Int()
	if !ok || n < 0 || args[0].Kind != datum.KindString {
		return datum.Null, nil
	}
	n = min(n, datum.MaxValueSize+1) // what is longer is refused, and the product does not overflow
	if args[0].Text == "" {
		n = 0
	}
	if err := textRoom(c, n*int64(len(args[0].Text))); err != nil {
		return datum.Value{}, err
	}
	return datum.Text(strings.Repeat(args[0].Text, int(n))), nil
}
