package ejson

import (
	"errors"
	"math"
	"strconv"
)

// ErrBadArith is returned for a value with an integer beyond the doubles, of which CouchDB cannot
// take the logarithm.
var ErrBadArith = errors.New("ejson: integer beyond the range of doubles")

// EncodedSize is CouchDB's estimate of the printed size of v in bytes
// (couch_ejson_size:encoded_size): strings count without escapes, doubles by magnitude. The only
// error is ErrBadArith.
func (v Value) EncodedSize() (int64, error) {
	if v.p == nil {
		return 0, nil
	}
	// The size of a container is the sum of fixed parts and its children's sizes, so the order does
	// not matter.
	var sum int64
	for i := range v.p.nodes[v.i : v.i+v.node().span] {
		n := &v.p.nodes[v.i+uint32(i)]
		switch n.kind {
		case Object:
			sum += containerSize(int64(n.count), 2)
		case Array:
			sum += containerSize(int64(n.count), 1)
		case String:
			sum += v.p.stringSize(n)
		case Int:
			size, err := intSize(v.p.src[n.start:n.end])
			if err != nil {
				return 0, err
			}
			sum += size
		case Double:
			f, _ := parseDouble(v.p.src[n.start:n.end])
			sum += doubleSize(f)
		default:
			sum += int64(n.end - n.start)
		}
	}
	return sum, nil
}

// containerSize is the part of a container's size that its children do not account for.
func containerSize(count, each int64) int64 {
	if count == 0 {
		return 2
	}
	return 1 + each*count
}

// stringSize is the size of a string as it is printed, quotes included.
func (p *Parser) stringSize(n *node) int64 {
	size := int64(n.end - n.start)
	if n.flags&flagEscaped != 0 {
		var buf [256]byte
		size = int64(len(appendUnescaped(buf[:0], p.src[n.start+1:n.end-1]))) + 2
	}
	return size
}

// intSize is trunc(log10(|n|)) + 1, with the rounding of a double logarithm, plus the sign.
func intSize(text []byte) (int64, error) {
	var sign int64
	if text[0] == '-' {
		text = text[1:]
		if text[0] != '0' {
			sign = 1
		}
	}
	digits := len(text)
	const exactDigits = 14 // below 10^15 - 0.5 no logarithm is rounded up to an integer
	if digits > exactDigits {
		f, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			return 0, ErrBadArith
		}
		if logRoundsUp(f, digits) {
			digits++
		}
	}
	return int64(digits) + sign, nil
}

// logRoundsUp reports whether log10(f), below digits, is rounded to digits.
func logRoundsUp(f float64, digits int) bool {
	power, err := strconv.ParseFloat("1e"+strconv.Itoa(digits), 64)
	if err != nil {
		return false
	}
	gap := -math.Log1p((f-power)/power) / math.Ln10
	ulp := float64(digits) - math.Nextafter(float64(digits), 0)
	return gap <= ulp/2
}

// doubleSize guesses the length of a printed double from its magnitude.
func doubleSize(f float64) int64 {
	if f < 0 {
		return 1 + doubleSize(-f)
	}
	switch {
	case f == 0, f == 1:
		return 3
	case f >= 1e100:
		return 5
	case f >= 1e10:
		return 4
	case f > 1, f > 0.01, f <= 1e-300:
		return 3
	case f <= 1e-100:
		return 6
	case f <= 1e-10:
		return 5
	}
	return 4
}
