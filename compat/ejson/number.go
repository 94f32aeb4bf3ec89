package ejson

import (
	"bytes"
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

// shortNumber is the size of jiffy's number buffer: longer texts, and those whose strtod reports ERANGE, take another
// way.
const shortNumber = 32

// maxFloatDigits is the length from which on an integer, sign included, is surely beyond the doubles.
const maxFloatDigits = 311

// smallestNormal is the smallest double that is not subnormal.
const smallestNormal = 0x1p-1022

// parseDouble converts a number with a point or an exponent as jiffy does; ok is false for what it calls malformed.
// See jiffy's dec_number (decoder.c) and finish_decode (jiffy.erl).
func parseDouble(text []byte) (f float64, ok bool) {
	if f, ok := parsePlainDouble(text); ok {
		return f, true
	}
	fraction := bytes.IndexByte(text, '.') >= 0
	last := text[len(text)-1]
	dangling := last == '+' || last == '-' // an exponent without digits
	if len(text) < shortNumber {
		decimal := text
		if dangling {
			decimal = text[:len(text)-2]
		}
		f, err := strconv.ParseFloat(string(decimal), 64)
		tiny := math.Abs(f) < smallestNormal && !isZero(decimal)
		if err == nil && !tiny {
			return f, true
		}
	}
	if dangling {
		return 0, false
	}
	if !fraction {
		return parseIntegerWithExponent(text)
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil
}

var smallPowers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// parsePlainDouble converts numbers without exponent of at most 15 digits: a quotient of two integers that doubles hold
// exactly, so the division rounds as it should. ok is false for all others.
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

// double is the value of a Double.
func (p *Parser) double(n *node) (f float64, ok bool) {
	text := p.src[n.start:n.end]
	if n.flags&flagNearest != 0 {
		f, err := strconv.ParseFloat(string(text), 64)
		return f, err == nil
	}
	return parseDouble(text)
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

// parseIntegerWithExponent is jiffy's bignum_e: double(integer) * pow(10, exponent), each step rounded.
func parseIntegerWithExponent(text []byte) (f float64, ok bool) {
	e := bytes.IndexAny(text, "eE")
	if e > maxFloatDigits {
		return 0, false
	}
	exponent, err := strconv.ParseInt(string(text[e+1:]), 10, 32)
	if err != nil {
		exponent = math.MaxInt32
		if text[e+1] == '-' {
			exponent = math.MinInt32
		}
	}
	power, err := strconv.ParseFloat("1e"+strconv.FormatInt(exponent, 10), 64)
	if err != nil {
		return 0, false
	}
	if exponent == 23 || exponent == 210 {
		// The two powers of ten that the C library of the real server does not round to the nearest double.
		power = math.Nextafter(power, math.Inf(1))
	}
	f = erlangFloat(bigInteger(text[:e])) * power
	return f, !math.IsInf(f, 0) && !math.IsNaN(f)
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

// bigInteger reads a JSON integer. It halves long ones, because big.Int's own reader takes minutes for one of eight
// million digits.
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

// AppendFloat appends f, which must be finite, as CouchDB prints doubles: the shortest decimal that reads as f, with
// `.0` if there is neither point nor exponent, in exponent form outside 1e-6 <= |f| < 1e21; -0.0 is `0.0`.
func AppendFloat(dst []byte, f float64) []byte {
	abs := math.Abs(f)
	if abs == 0 {
		return append(dst, "0.0"...)
	}
	start := len(dst)
	if abs >= 1e-6 && abs < 1e21 {
		dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
		if bytes.IndexByte(dst[start:], '.') < 0 {
			dst = append(dst, ".0"...)
		}
		return dst
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// Go writes at least two digits of the exponent, CouchDB one.
	if n := len(dst); dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}
