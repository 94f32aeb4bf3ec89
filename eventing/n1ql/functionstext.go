package n1ql

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// onText is a function of strings: of other arguments it is NULL.
func onText(least, most int, call func(args []value) value) builtin {
	return pure(least, most, func(args []value) value {
		for i := range args {
			if args[i].kind != kindString {
				return null
			}
		}
		return call(args)
	})
}

// registerStrings adds the functions of strings. Lengths and positions are in bytes, as in
// Couchbase; only MB_LENGTH counts characters.
func registerStrings() {
	onOne := func(call func(string) string) builtin {
		return onText(1, 1, func(args []value) value { return text(call(args[0].text)) })
	}
	register(onOne(strings.ToLower), "LOWER")
	register(onOne(strings.ToUpper), "UPPER")
	register(onOne(reverse), "REVERSE")
	register(onText(1, 1, func(args []value) value {
		return integer(int64(len(args[0].text)))
	}), "LENGTH")
	register(onText(1, 1, func(args []value) value {
		return integer(int64(utf8.RuneCountInString(args[0].text)))
	}), "MB_LENGTH")
	register(onText(2, 2, func(args []value) value {
		return boolean(strings.Contains(args[0].text, args[1].text))
	}), "CONTAINS")
	register(onText(2, 2, func(args []value) value {
		return integer(int64(strings.Index(args[0].text, args[1].text)))
	}), "POSITION", "POS")
	register(pure(2, 3, substring), "SUBSTR")
	register(trimming(strings.Trim), "TRIM")
	register(trimming(strings.TrimLeft), "LTRIM")
	register(trimming(strings.TrimRight), "RTRIM")
	register(builtin{least: 1, most: 2, call: split}, "SPLIT")
	register(onOne(initials), "INITCAP", "TITLE")
	register(padding(func(s, pad string) string { return pad + s }), "LPAD")
	register(padding(func(s, pad string) string { return s + pad }), "RPAD")
	register(onOne(url.QueryEscape), "URLENCODE")
	decoded := func(decode func(string) (string, error)) builtin {
		return onText(1, 1, func(args []value) value {
			s, err := decode(args[0].text)
			if err != nil || !utf8.ValidString(s) {
				return null
			}
			return text(s)
		})
	}
	register(decoded(url.QueryUnescape), "URLDECODE")
	register(builtin{least: 1, most: -1, call: func(e *env, args []value) (value, error) {
		return e.concatenate(args)
	}}, "CONCAT")
	register(builtin{least: 3, most: 4, call: replace}, "REPLACE")
	register(builtin{least: 2, most: 2, call: repeat}, "REPEAT")
	register(builtin{random: true, call: func(*env, []value) (value, error) {
		var b [16]byte
		_, err := rand.Read(b[:])
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		return text(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])), err
	}}, "UUID")
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
func substring(args []value) value {
	if args[0].kind != kindString {
		return null
	}
	s := args[0].text
	from, ok := count(&args[1])
	if from < 0 {
		from += int64(len(s))
	}
	if !ok || from < 0 || from >= int64(len(s)) {
		return null
	}
	s = s[from:]
	if len(args) > 2 {
		n, ok := count(&args[2])
		if !ok || n < 0 {
			return null
		}
		s = s[:min(n, int64(len(s)))]
	}
	return text(strings.ToValidUTF8(s, "\ufffd")) // a cut character is no string of JSON
}

// count is an argument that must be an integer.
func count(v *value) (n int64, ok bool) {
	n, ok = v.num.int()
	return n, ok && v.kind == kindNumber
}

// trimming is a function of a string and of the characters to be removed from its ends.
func trimming(trim func(s, cutset string) string) builtin {
	return onText(1, 2, func(args []value) value {
		cutset := " \t\n\f\r"
		if len(args) > 1 {
			cutset = args[1].text
		}
		return text(trim(args[0].text, cutset))
	})
}

// split is SPLIT(string[, separator]); without a separator it is blanks.
func split(_ *env, args []value) (value, error) {
	for i := range args {
		if args[i].kind != kindString {
			return null, nil
		}
	}
	most := len(args[0].text) / 2
	if len(args) > 1 {
		most = strings.Count(args[0].text, args[1].text)
	}
	if err := tooMany(float64(most)); err != nil {
		return value{}, err
	}
	parts := strings.Fields(args[0].text)
	if len(args) > 1 {
		parts = strings.Split(args[0].text, args[1].text)
	}
	list := make([]value, len(parts))
	for i, part := range parts {
		list[i] = text(part)
	}
	return array(list), nil
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
func padding(join func(s, pad string) string) builtin {
	return builtin{least: 2, most: 3, call: func(e *env, args []value) (value, error) {
		fill := " "
		if len(args) > 2 {
			if fill = args[2].text; args[2].kind != kindString || fill == "" {
				return null, nil
			}
		}
		size, ok := count(&args[1])
		s := args[0].text
		missing := size - int64(len(s))
		switch {
		case !ok || size < 0 || args[0].kind != kindString:
			return null, nil
		case missing <= 0:
			return text(strings.ToValidUTF8(s[:size], "\ufffd")), nil
		}
		if err := e.room(size); err != nil {
			return value{}, err
		}
		pad := strings.Repeat(fill, int(missing)/len(fill)+1)[:missing]
		return text(join(s, strings.ToValidUTF8(pad, "\ufffd"))), nil
	}}
}

// replace is REPLACE(string, old, new[, count]).
func replace(e *env, args []value) (value, error) {
	for _, arg := range args[:3] {
		if arg.kind != kindString {
			return null, nil
		}
	}
	n := int64(strings.Count(args[0].text, args[1].text))
	if len(args) > 3 {
		most, ok := count(&args[3])
		if !ok {
			return null, nil
		}
		if most >= 0 {
			n = min(n, most)
		}
	}
	// The product cannot overflow: both factors are below 2**26.
	if err := e.room(int64(len(args[0].text)) + n*int64(len(args[2].text))); err != nil {
		return value{}, err
	}
	return text(strings.Replace(args[0].text, args[1].text, args[2].text, int(n))), nil
}

// repeat is REPEAT(string, count).
func repeat(e *env, args []value) (value, error) {
	n, ok := count(&args[1])
	if !ok || n < 0 || args[0].kind != kindString {
		return null, nil
	}
	n = min(n, maxValueSize+1) // what is longer is refused, and the product does not overflow
	if args[0].text == "" {
		n = 0
	}
	if err := e.room(n * int64(len(args[0].text))); err != nil {
		return value{}, err
	}
	return text(strings.Repeat(args[0].text, int(n))), nil
}
