package ejson

import (
	"encoding/binary"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// refValue is the slow, plain model that the tape is compared with: a tree, built and walked by
// recursion.
type refValue struct {
	kind     Kind
	text     string // literals and numbers as written, strings unescaped
	names    []string
	children []refValue
}

// refParse parses a whole text.
func refParse(text []byte) (refValue, bool) {
	p := &refParser{rest: string(text)}
	v, ok := p.value()
	p.blanks()
	return v, ok && p.rest == "" && !v.outOfRange()
}

type refParser struct{ rest string }

func (p *refParser) blanks() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func (p *refParser) take(token string) bool {
	p.blanks()
	rest, ok := strings.CutPrefix(p.rest, token)
	p.rest = rest
	return ok
}

var refNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?`)

func (p *refParser) value() (refValue, bool) {
	for literal, kind := range map[string]Kind{"null": Null, "true": Bool, "false": Bool} {
		if p.take(literal) {
			return refValue{kind: kind, text: literal}, true
		}
	}
	switch {
	case p.take("["):
		return p.array()
	case p.take("{"):
		return p.object()
	case strings.HasPrefix(p.rest, `"`):
		s, ok := p.str()
		return refValue{kind: String, text: s}, ok
	}
	number := refNumber.FindString(p.rest)
	p.rest = p.rest[len(number):]
	// A point or exponent that is not part of the number will not be a separator either.
	kind := Int
	if strings.ContainsAny(number, ".eE") {
		kind = Double
	}
	return refValue{kind: kind, text: number}, number != ""
}

func (p *refParser) array() (refValue, bool) {
	v := refValue{kind: Array}
	if p.take("]") {
		return v, true
	}
	for {
		element, ok := p.value()
		if !ok {
			return v, false
		}
		v.children = append(v.children, element)
		if p.take("]") {
			return v, true
		}
		if !p.take(",") {
			return v, false
		}
	}
}

func (p *refParser) object() (refValue, bool) {
	v := refValue{kind: Object}
	if p.take("}") {
		return v, true
	}
	for {
		p.blanks()
		name, ok := p.str()
		if !ok || !p.take(":") {
			return v, false
		}
		member, ok := p.value()
		if !ok {
			return v, false
		}
		for i, other := range v.names {
			if other == name {
				v.names = append(v.names[:i:i], v.names[i+1:]...)
				v.children = append(v.children[:i:i], v.children[i+1:]...)
				break
			}
		}
		v.names = append(v.names, name)
		v.children = append(v.children, member)
		if p.take("}") {
			return v, true
		}
		if !p.take(",") {
			return v, false
		}
	}
}

// str reads a string by way of UTF-16.
func (p *refParser) str() (string, bool) {
	if !strings.HasPrefix(p.rest, `"`) {
		return "", false
	}
	s := p.rest[1:]
	var units []uint16
	for {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r < 0x20, r == utf8.RuneError && size < 2:
			return "", false
		case r == '"':
			p.rest = s[1:]
			text := utf16.Decode(units)
			for _, r := range text {
				if r == utf8.RuneError && !containsUnit(units, 0xFFFD) {
					return "", false // a lone surrogate
				}
			}
			return string(text), true
		case r == '\\':
			if len(s) < 2 {
				return "", false
			}
			if i := strings.IndexByte(`"\/bfnrt`, s[1]); i >= 0 {
				units = append(units, uint16("\"\\/\b\f\n\r\t"[i]))
				s = s[2:]
				continue
			}
			if s[1] != 'u' || len(s) < 6 {
				return "", false
			}
			unit, err := strconv.ParseUint(s[2:6], 16, 16)
			if err != nil {
				return "", false
			}
			units = append(units, uint16(unit))
			s = s[6:]
		default:
			units = utf16.AppendRune(units, r)
			s = s[size:]
		}
	}
}

func containsUnit(units []uint16, unit uint16) bool {
	for _, u := range units {
		if u == unit {
			return true
		}
	}
	return false
}

func (v refValue) outOfRange() bool {
	if v.kind == Double {
		_, ok := parseDouble([]byte(v.text))
		return !ok
	}
	for _, c := range v.children {
		if c.outOfRange() {
			return true
		}
	}
	return false
}

func (v refValue) print() string {
	var parts []string
	for i, c := range v.children {
		if v.kind == Object {
			parts = append(parts, refQuote(v.names[i])+":"+c.print())
		} else {
			parts = append(parts, c.print())
		}
	}
	switch v.kind {
	case Array:
		return "[" + strings.Join(parts, ",") + "]"
	case Object:
		return "{" + strings.Join(parts, ",") + "}"
	case String:
		return refQuote(v.text)
	case Int:
		n, _ := new(big.Int).SetString(v.text, 10)
		return n.String()
	case Double:
		f, _ := parseDouble([]byte(v.text))
		return refFloat(f)
	}
	return v.text
}

func refQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		i := strings.IndexRune("\"\\\b\f\n\r\t", r)
		switch {
		case i >= 0:
			b.WriteString(`\` + `"\bfnrt`[i:i+1])
		case r < 0x20:
			b.WriteString(`\u00` + strings.ToUpper(strconv.FormatInt(int64(r)+0x100, 16)[1:]))
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// refFloat takes the shorter one of both notations, that without an exponent if they are equally
// long; from 2^53 on it is the other one.
func refFloat(f float64) string {
	if f == 0 {
		return "0.0"
	}
	if f < 0 {
		return "-" + refFloat(-f)
	}
	digits, magnitude := refDigits(f)
	whole, fraction := digits, "0"
	switch {
	case magnitude < 0:
		whole, fraction = "0", strings.Repeat("0", -magnitude-1)+digits
	case magnitude >= len(digits):
		whole = digits + strings.Repeat("0", magnitude+1-len(digits))
	case magnitude+1 < len(digits):
		whole, fraction = digits[:magnitude+1], digits[magnitude+1:]
	}
	fixed := whole + "." + fraction
	scientific := digits[:1] + "." + (digits + "0")[1:max(len(digits), 2)] + "e" + strconv.Itoa(magnitude)
	if len(fixed) > len(scientific) || f >= 1<<53 {
		return scientific
	}
	return fixed
}

// refDigits finds the shortest digits that read as f, and the power of ten that the first one
// stands for, by trying both neighbours of f among the decimals of one digit, of two, and so on:
// the nearer one, the even one of two equally near.
func refDigits(f float64) (string, int) {
	_, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', 16, 64), "e")
	magnitude, _ := strconv.Atoi(exponent)
	exact := new(big.Rat).SetFloat64(f)
	for n := 1; ; n++ {
		unit := magnitude - n + 1
		power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(unit, -unit))), nil))
		if unit < 0 {
			power.Inv(power)
		}
		scaled := new(big.Rat).Quo(exact, power)
		below := new(big.Int).Div(scaled.Num(), scaled.Denom())
		best, distance := "", new(big.Rat)
		for _, neighbour := range []*big.Int{below, new(big.Int).Add(below, big.NewInt(1))} {
			text := neighbour.String()
			away := new(big.Rat).Sub(new(big.Rat).SetInt(neighbour), scaled)
			if read, _ := strconv.ParseFloat(text+"e"+strconv.Itoa(unit), 64); read != f {
				continue
			}
			order := away.Abs(away).Cmp(distance)
			if best == "" || order < 0 || order == 0 && neighbour.Bit(0) == 0 {
				best, distance = text, away
			}
		}
		if best != "" {
			return strings.TrimRight(best, "0"), unit + len(best) - 1
		}
	}
}

// term follows the description of the external term format, element by element.
func (v refValue) term() []byte {
	switch v.kind {
	case Object:
		var pairs [][]byte
		for i, c := range v.children {
			pair := append([]byte{104, 2}, refBinary(v.names[i])...)
			pairs = append(pairs, append(pair, c.term()...))
		}
		return append([]byte{104, 1}, refList(pairs)...)
	case Array:
		var elements [][]byte
		bytes := []byte{}
		for _, c := range v.children {
			t := c.term()
			elements = append(elements, t)
			if len(t) == 2 && t[0] == 97 {
				bytes = append(bytes, t[1])
			}
		}
		if n := len(elements); n > 0 && n == len(bytes) && n < 65536 {
			return append(binary.BigEndian.AppendUint16([]byte{107}, uint16(n)), bytes...)
		}
		return refList(elements)
	case String:
		return refBinary(v.text)
	case Int:
		n, _ := new(big.Int).SetString(v.text, 10)
		return refInteger(n)
	case Double:
		f, _ := parseDouble([]byte(v.text))
		return binary.BigEndian.AppendUint64([]byte{70}, math.Float64bits(f))
	}
	return append([]byte{100, 0, byte(len(v.text))}, v.text...)
}

func refBinary(s string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{109}, uint32(len(s))), s...)
}

func refList(elements [][]byte) []byte {
	if len(elements) == 0 {
		return []byte{106}
	}
	t := binary.BigEndian.AppendUint32([]byte{108}, uint32(len(elements)))
	for _, e := range elements {
		t = append(t, e...)
	}
	return append(t, 106)
}

func refInteger(n *big.Int) []byte {
	if n.IsInt64() {
		switch i := n.Int64(); {
		case i >= 0 && i < 256:
			return []byte{97, byte(i)}
		case i == int64(int32(i)):
			return binary.BigEndian.AppendUint32([]byte{98}, uint32(i))
		}
	}
	raw := n.Bytes()
	var t []byte
	if len(raw) < 256 {
		t = []byte{110, byte(len(raw))}
	} else {
		t = binary.BigEndian.AppendUint32([]byte{111}, uint32(len(raw)))
	}
	t = append(t, byte((1-n.Sign())/2))
	for i := range raw {
		t = append(t, raw[len(raw)-1-i])
	}
	return t
}

// size sums up couch_ejson_size; ok is false where it would fail or depend on the rounding of a
// logarithm.
func (v refValue) size() (size int64, ok bool) {
	switch v.kind {
	case Object, Array:
		if len(v.children) == 0 {
			return 2, true
		}
		size, ok = 1, true
		for i, c := range v.children {
			s, k := c.size()
			size += s + 1
			ok = ok && k
			if v.kind == Object {
				size += int64(len(v.names[i])) + 2 + 1
			}
		}
		return size, ok
	case Int:
		n, _ := new(big.Int).SetString(v.text, 10)
		return int64(len(n.String())), len(v.text) < 15
	case Double:
		f, _ := parseDouble([]byte(v.text))
		return refDoubleSize(f), true
	case String:
		return int64(len(v.text)) + 2, true
	}
	return int64(len(v.text)), true
}

func refDoubleSize(f float64) int64 {
	var sign int64
	if f < 0 {
		sign, f = 1, -f
	}
	bounds := []struct {
		limit float64
		size  int64
	}{{1e-300, 3}, {1e-100, 6}, {1e-10, 5}, {0.01, 4}}
	if f < 1 {
		for _, b := range bounds {
			if f <= b.limit {
				return b.size + sign
			}
		}
		return 3 + sign
	}
	if f >= 1e100 {
		return 5 + sign
	}
	if f >= 1e10 {
		return 4 + sign
	}
	return 3 + sign
}
