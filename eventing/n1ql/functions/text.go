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
	register(onText(2, 2, func(args []datum.Value) datum.Value {
		return datum.Integer(int64(strings.Index(args[0].Text, args[1].Text)))
	}), "POSITION", "POS")
	register(pure(2, 3, substring), "SUBSTR")
	register(trimming(strings.Trim), "TRIM")
	register(trimming(strings.TrimLeft), "LTRIM")
	register(trimming(strings.TrimRight), "RTRIM")
	register(Function{least: 1, most: 2, call: split}, "SPLIT")
	register(onOne(initials), "INITCAP", "TITLE")
	register(padding(func(s, pad string) string { return pad + s }), "LPAD")
	register(padding(func(s, pad string) string { return s + pad }), "RPAD")
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

// substring is SUBSTR(string, position[, length]): bytes counted from 0, from the end if the
// position is negative.
func substring(args []datum.Value) datum.Value {
	if args[0].Kind != datum.KindString {
		return datum.Null
	}
	s := args[0].Text
	from, ok := args[1].Int()
	if from < 0 {
		from += int64(len(s))
	}
	if !ok || from < 0 || from >= int64(len(s)) {
		return datum.Null
	}
	s = s[from:]
	if len(args) > 2 {
		n, ok := args[2].Int()
		if !ok || n < 0 {
			return datum.Null
		}
		s = s[:min(n, int64(len(s)))]
	}
	return datum.Text(strings.ToValidUTF8(s, "\ufffd")) // a cut character is no string of JSON
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

// padding is a function of a string, the number of bytes that it shall have, and what it is filled
// up with. A longer string is cut.
func padding(join func(s, pad string) string) Function {
	return Function{least: 2, most: 3, call: func(c Caller, args []datum.Value) (datum.Value, error) {
		fill := " "
		if len(args) > 2 {
			if fill = args[2].Text; args[2].Kind != datum.KindString || fill == "" {
				return datum.Null, nil
			}
		}
		size, ok := args[1].Int()
		s := args[0].Text
		missing := size - int64(len(s))
		switch {
		case !ok || size < 0 || args[0].Kind != datum.KindString:
			return datum.Null, nil
		case missing <= 0:
			return datum.Text(strings.ToValidUTF8(s[:size], "\ufffd")), nil
		}
		if err := textRoom(c, size); err != nil {
			return datum.Value{}, err
		}
		pad := strings.Repeat(fill, int(missing)/len(fill)+1)[:missing]
		return datum.Text(join(s, strings.ToValidUTF8(pad, "\ufffd"))), nil
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
