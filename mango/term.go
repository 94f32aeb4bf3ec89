package mango

import (
	"math"
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
)

// term prints a JSON value as io_lib's ~w prints the term jiffy makes of it: {[{<<97>>,1}]}.
func term(v ejson.Value) string { return string(appendTerm(nil, v)) }

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
			dst = appendFloat(dst, f)
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

// appendFloat prints the shortest digits that read as f, in decimal or with an exponent, whichever is shorter
// (io_lib_format:fwrite_g/1).
func appendFloat(dst []byte, f float64) []byte {
	if math.Signbit(f) {
		dst = append(dst, '-')
		f = -f
	}
	if f == 0 {
		return append(dst, "0.0"...)
	}
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], f, 'e', -1, 64) // d.ddde±xx
	digits := make([]byte, 0, len(text))
	i := 0
	for ; text[i] != 'e'; i++ {
		if text[i] != '.' {
			digits = append(digits, text[i])
		}
	}
	exponent, _ := strconv.Atoi(string(text[i+1:]))
	point := exponent + 1 // of the decimal point: f = 0.digits · 10^point
	cost := len(strconv.Itoa(exponent)) + 2
	if len(digits) == 1 {
		cost++
	}
	switch {
	case point >= 0 && point < len(digits):
		if point == 0 {
			dst = append(dst, '0')
		}
		dst = append(append(dst, digits[:point]...), '.')
		return append(dst, digits[point:]...)
	case point < 0 && 2-point <= cost:
		return append(appendZeros(append(dst, "0."...), -point), digits...)
	case point > 0 && point-len(digits)+2 <= cost && f < 1<<53:
		return append(appendZeros(append(dst, digits...), point-len(digits)), ".0"...)
	}
	dst = append(dst, digits[0], '.')
	if len(digits) == 1 {
		dst = append(dst, '0')
	}
	dst = append(append(dst, digits[1:]...), 'e')
	return strconv.AppendInt(dst, int64(exponent), 10)
}

func appendZeros(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}
