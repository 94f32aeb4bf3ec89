package ejson

import (
	"bytes"
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

// maxFloatDigits is the length from which on an integer, sign included, is surely beyond the
// doubles.
const maxFloatDigits = 311

// parseDouble converts a number with a point or an exponent as jiffy does: to the nearest double.
// ok is false for what it calls malformed. See jiffy's dec_number (decoder.c) and finish_decode
// (jiffy.erl).
func parseDouble(text []byte) (f float64, ok bool) {
	if f, ok := parsePlainDouble(text); ok {
		return f, true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err == nil && (f != 0 || isZero(text)) {
		return f, true
	}
	return parseOutOfRange(text)
}

var smallPowers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// parsePlainDouble converts numbers without exponent of at most 15 digits: a quotient of two
// integers that doubles hold exactly, so the division rounds as it should. ok is false for all
// others.
func parsePlainDouble(text []byte) (f float64, ok bool) {
	if len(text) > 1+15+1 {
		return 0, false
	}
	digits := text
	if text[0] == '-' {
		digits = text[1:]
	}
	if len(digits) > 15+1 {
		return 0, false
	}
	n, decimals := 0, 0
	for i, c := range digits {
		if c == '.' {
			decimals = len(digits) - 1 - i
			continue
		}
		if c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	f = float64(n) / smallPowers[decimals]
	if text[0] == '-' {
		f = -f
	}
	return f, true
}

// isZero reports whether all digits before the exponent are 0.
func isZero(text []byte) bool {
	for _, c := range text {
		if c >= '1' && c <= '9' {
			return false
		}
		if c|0x20 == 'e' {
			return true
		}
	}
	return true
}

// parseOutOfRange converts a number that is nearer to 0 than any double, or beyond the largest, as
// jiffy's bigdbl does: the part before the exponent times a power of ten, each step rounded, so
// that some numbers just beyond the largest double are that one.
func parseOutOfRange(text []byte) (f float64, ok bool) {
	before, exponent := text, "0"
	if e := bytes.IndexAny(text, "eE"); e >= 0 {
		before, exponent = text[:e], string(bytes.TrimPrefix(text[e+1:], []byte{'+'}))
	}
	if len(exponent) > maxFloatDigits { // Erlang makes a float of it, too
		return 0, false
	}
	power, err := strconv.ParseFloat("1e"+exponent, 64)
	if err != nil {
		return 0, false
	}
	if bytes.IndexByte(before, '.') >= 0 {
		f, err = strconv.ParseFloat(string(before), 64)
	} else if len(before) <= maxFloatDigits {
		f = erlangFloat(bigInteger(before))
	} else {
		return 0, false
	}
	f *= power
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}

// BigInt is the value of an Int, of whatever size; nil of other kinds.
func (v Value) BigInt() *big.Int {
	if v.Kind() != Int {
		return nil
	}
	return bigInteger(v.Raw())
}

// bigDigits is how many digits are read at once, in time that grows with their square.
const bigDigits = 2000

// bigInteger reads a JSON integer. It halves long ones, because big.Int's own reader takes minutes
// for one of eight million digits.
func bigInteger(text []byte) *big.Int {
	digits := bytes.TrimPrefix(text, []byte{'-'})
	n := readDigits(digits, new([]*big.Int))
	if len(digits) < len(text) {
		n.Neg(n)
	}
	return n
}

// readDigits reads digits; powers[k] is ten to the power of bigDigits<<k, as far as it was needed.
func readDigits(digits []byte, powers *[]*big.Int) *big.Int {
	n := new(big.Int)
	if len(digits) <= bigDigits {
		n.SetString(string(digits), 10)
		return n
	}
	k := bits.Len(uint((len(digits)-1)/bigDigits)) - 1
	for len(*powers) <= k {
		var power *big.Int
		if i := len(*powers); i == 0 {
			power = new(big.Int).Exp(big.NewInt(10), big.NewInt(bigDigits), nil)
		} else {
			power = new(big.Int).Mul((*powers)[i-1], (*powers)[i-1])
		}
		*powers = append(*powers, power)
	}
	cut := len(digits) - bigDigits<<k
	low := readDigits(digits[cut:], powers)
	return n.Add(n.Mul(readDigits(digits[:cut], powers), (*powers)[k]), low)
}

// erlangFloat converts an integer as Erlang's big_to_double: 64 bits at a time, rounding each time.
func erlangFloat(n *big.Int) float64 {
	var magnitude big.Int
	magnitude.Abs(n)
	var buf [8]byte
	raw := magnitude.Bytes()
	f := 0.0
	for len(raw) > 0 {
		head := (len(raw)-1)%8 + 1
		clear(buf[:])
		copy(buf[8-head:], raw[:head])
		raw = raw[head:]
		var word uint64
		for _, b := range buf {
			word = word<<8 | uint64(b)
		}
		f = f*0x1p64 + float64(word)
	}
	if n.Sign() < 0 {
		return -f
	}
	return f
}

// AppendFloat appends f, which must be finite, as CouchDB prints doubles: the shortest decimal that
// reads as f, of those the nearest, with at least one digit on both sides of the point; -0.0 is
// `0.0`. The notation is Erlang's: without an exponent unless that makes it longer, or f is 2^53 or
// more. See to_chars.h of jiffy's ryu.
func AppendFloat(dst []byte, f float64) []byte {
	if f == 0 {
		return append(dst, "0.0"...)
	}
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], f, 'e', -1, 64) // -d.ddde±xx
	if text[0] == '-' {
		dst, text = append(dst, '-'), text[1:]
	}
	digits, exponent, _ := bytes.Cut(text, []byte{'e'})
	magnitude, _ := strconv.Atoi(string(exponent)) // of the first digit
	if len(digits) > 1 {
		digits = append(digits[:1], digits[2:]...)
	}
	if last := magnitude - len(digits) + 1; math.Abs(f) >= 1<<53 || !withoutExponent(len(digits), last) {
		dst = append(append(dst, digits[0]), '.')
		if len(digits) == 1 {
			dst = append(dst, '0')
		}
		dst = append(append(dst, digits[1:]...), 'e')
		return strconv.AppendInt(dst, int64(magnitude), 10)
	}
	return appendFixed(dst, digits, magnitude+1)
}

// withoutExponent reports whether a number of some significant digits, the last of which stands for
// ten to the power of last, is printed without an exponent if it is below 2^53: where that is not
// longer.
func withoutExponent(digits, last int) bool {
	switch {
	case digits == 1:
		return last >= -4 && last <= 2
	case digits+last > 10: // the exponent would have two digits
		return last >= -digits-2 && last <= 2
	}
	return last >= -digits-2 && last <= 1
}

// appendFixed appends digits with the point after some of them, which may be more than there are,
// or less than none.
func appendFixed(dst, digits []byte, point int) []byte {
	const zeros = "000"
	switch {
	case point <= 0:
		dst = append(append(dst, "0."...), zeros[:-point]...)
		return append(dst, digits...)
	case point >= len(digits):
		dst = append(append(dst, digits...), zeros[:point-len(digits)]...)
		return append(dst, ".0"...)
	}
	dst = append(append(dst, digits[:point]...), '.')
	return append(dst, digits[point:]...)
}
