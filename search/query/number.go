package query

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// javaDouble is what java.lang.Double.parseDouble takes; Clouseau asks the same expression whether
// a word is a number.
var javaDouble = regexp.MustCompile(`^[\x00-\x20]*[+-]?(NaN|Infinity|` +
	`((([0-9]+\.?[0-9]*([eE][+-]?[0-9]+)?)|(\.[0-9]+([eE][+-]?[0-9]+)?)|` +
	`((0[xX][0-9a-fA-F]+\.?)|(0[xX][0-9a-fA-F]*\.[0-9a-fA-F]+))[pP][+-]?[0-9]+)[fFdD]?))[\x00-\x20]*$`)

// ParseJavaDouble reads a word as Java's Double.parseDouble does; false if it is no number.
func ParseJavaDouble(s string) (float64, bool) {
	if !javaDouble.MatchString(s) {
		return 0, false
	}
	s = strings.Trim(s, "\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\v\f\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18"+
		"\x19\x1a\x1b\x1c\x1d\x1e\x1f ")
	if !strings.HasSuffix(s, "Infinity") && !strings.HasSuffix(s, "NaN") {
		s = strings.TrimRight(s, "fFdD")
	}
	if strings.HasSuffix(s, "NaN") {
		return math.NaN(), true
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil || math.IsInf(v, 0) // too large is infinite, in Java as well
}

// Locale says how numbers are written in queries of `_nouveau`; the zero value is the root locale,
// 1,234.5.
type Locale struct {
	Group   rune // between thousands, ignored
	Decimal rune // before the fraction
}

// commaLocales are the languages that write 1.234,5; spaceLocales those that write 1 234,5.
var (
	commaLocales = map[string]bool{"de": true, "nl": true, "it": true, "es": true, "pt": true, "da": true, "tr": true,
		"id": true, "el": true, "ro": true, "ca": true, "gl": true, "eu": true, "hr": true, "sl": true, "sr": true,
		"is": true, "vi": true}
	spaceLocales = map[string]bool{"fr": true, "ru": true, "pl": true, "cs": true, "sv": true, "fi": true, "nb": true,
		"no": true, "nn": true, "hu": true, "bg": true, "uk": true, "sk": true, "lt": true, "lv": true, "et": true,
		"hy": true}
)

// LocaleOf gives the locale of a tag such as de or de-CH; a tag that is not known gives the root
// locale.
func LocaleOf(tag string) Locale {
	language, region, _ := strings.Cut(strings.ReplaceAll(tag, "_", "-"), "-")
	language, region = strings.ToLower(language), strings.ToUpper(region)
	swiss := region == "CH" || region == "LI"
	switch {
	case swiss && (language == "de" || language == "it"):
		return Locale{Group: '’', Decimal: '.'}
	case language == "es" && (region == "MX" || region == "US"):
		return Locale{}
	case commaLocales[language]:
		return Locale{Group: '.', Decimal: ','}
	case spaceLocales[language]:
		return Locale{Group: '\u00a0', Decimal: ','}
	}
	return Locale{}
}

// ParseNumber reads a number as java.text.DecimalFormat does in a locale: separators of groups are
// skipped wherever they stand, and what follows the number is ignored. It is false if the text does
// not begin with one.
func (l Locale) ParseNumber(s string) (float64, bool) {
	if l.Decimal == 0 {
		l = Locale{Group: ',', Decimal: '.'}
	}
	var digits strings.Builder
	rest := s
	if strings.HasPrefix(rest, "-") {
		digits.WriteByte('-')
		rest = rest[1:]
	}
	if strings.HasPrefix(rest, "∞") {
		v, _ := strconv.ParseFloat(digits.String()+"Inf", 64)
		return v, true
	}
	if strings.HasPrefix(s, "NaN") {
		return math.NaN(), true
	}
	seen, fraction := false, false
	for rest != "" {
		r, n := utf8.DecodeRuneInString(rest)
		isGroup := r == l.Group || l.Group == '\u00a0' && (r == ' ' || r == '\u202f')
		switch {
		case r >= '0' && r <= '9':
			seen = true
			digits.WriteRune(r)
		case r == l.Decimal && !fraction:
			fraction = true
			digits.WriteByte('.')
		case isGroup && seen && !fraction:
		default:
			n = -1
		}
		if n < 0 {
			break
		}
		rest = rest[n:]
	}
	if !seen {
		return 0, false
	}
	if exponent := exponentOf(rest); exponent != "" {
		digits.WriteString(exponent)
	}
	v, err := strconv.ParseFloat(digits.String(), 64)
	return v, err == nil || math.IsInf(v, 0)
}

// exponentOf is the exponent that s begins with: E, perhaps a minus, digits.
func exponentOf(s string) string {
	if !strings.HasPrefix(s, "E") {
		return ""
	}
	i := 1
	if i < len(s) && s[i] == '-' {
		i++
	}
	first := i
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == first {
		return ""
	}
	return s[:i]
}

var infinity, negativeInfinity = math.Inf(1), math.Inf(-1)
