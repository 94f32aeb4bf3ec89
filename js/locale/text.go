package locale

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/collate"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
	"golang.org/x/text/unicode/norm"

	collation "github.com/settee-db/settee/compat/collate"
)

// Orders compares texts as languages do. It keeps what it knows of up to 64 of them; the zero value
// is ready. Not safe for concurrent use.
type Orders struct {
	collators map[string]*collate.Collator
}

// Compare is localeCompare: negative, 0 or positive, for two texts in UTF-8 and the tag of a
// language. With numeric digits are compared as numbers; the sensitivity is "base", "accent",
// "case", or "variant", which "" is as well, as JavaScript names them.
func (o *Orders) Compare(a, b, locale string, numeric bool, sensitivity string) int {
	if a == b {
		return 0
	}
	exact := !numeric && (locale == "" || sensitivity == "" || sensitivity == "variant")
	switch {
	case exact && locale == "":
		return comparePOSIX(a, b)
	case exact && strings.HasPrefix(locale, "en"):
		return collation.CompareStrings([]byte(a), []byte(b))
	}
	return o.collator(locale, numeric, sensitivity).CompareString(a, b)
}

// comparePOSIX is the order of the locale en_US_POSIX, which CouchDB's engine has as its default:
// the root order, in which ASCII stands behind the letter a, by code; accents are later levels.
func comparePOSIX(a, b string) int {
	x, y := norm.NFD.String(a), norm.NFD.String(b)
	for {
		p, restX := nextBase(x)
		q, restY := nextBase(y)
		if p != q {
			if n := cmp.Compare(placePOSIX(p), placePOSIX(q)); n != 0 {
				return n
			}
			if isPOSIX(p) {
				return cmp.Compare(p, q)
			}
			if n := collation.CompareStrings([]byte(string(p)), []byte(string(q))); n != 0 {
				return n
			}
		}
		if p < 0 {
			return collation.CompareStrings([]byte(a), []byte(b))
		}
		x, y = restX, restY
	}
}

// placePOSIX tells the end of a text (0), what comes before ASCII (1), ASCII (2) and what comes
// after it (3) apart.
func placePOSIX(c rune) int {
	switch {
	case c < 0:
		return 0
	case isPOSIX(c):
		return 2
	case collation.AppendStringKey(nil, []byte(string(c)))[0] <= letterA:
		return 1
	}
	return 3
}

// isPOSIX reports whether the locale has a place of its own for a character.
func isPOSIX(c rune) bool { return ' ' <= c && c < utf8.RuneSelf }

// letterA is the primary weight of the letter a, which is a byte.
var letterA = collation.AppendStringKey(nil, []byte("a"))[0]

// nextBase gives the next character that is no combining mark and not ignored, -1 at the end.
func nextBase(s string) (c rune, rest string) {
	for s != "" {
		c, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		if isPOSIX(c) {
			return c, s
		}
		if key := collation.AppendStringKey(nil, []byte(string(c))); len(key) > 0 && key[0] > 1 {
			return c, s // it has a primary weight
		}
	}
	return -1, ""
}

// collator gives the order of a language; unknown ones have the root order.
func (o *Orders) collator(locale string, numeric bool, sensitivity string) *collate.Collator {
	name := fmt.Sprint(locale, " ", numeric, " ", sensitivity)
	if c, ok := o.collators[name]; ok {
		return c
	}
	if o.collators == nil || len(o.collators) >= 64 {
		o.collators = map[string]*collate.Collator{}
	}
	var options []collate.Option
	if numeric {
		options = append(options, collate.Numeric)
	}
	switch sensitivity {
	case "base":
		options = append(options, collate.IgnoreCase, collate.IgnoreDiacritics)
	case "accent":
		options = append(options, collate.IgnoreCase)
	case "case":
		options = append(options, collate.IgnoreDiacritics)
	}
	c := collate.New(language.Make(locale), options...)
	o.collators[name] = c
	return c
}

// Number writes a number as a locale does, with at most three digits after the point; the default
// locale has no marks between thousands.
func Number(f float64, locale string) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strings.Replace(strings.TrimPrefix(fmt.Sprint(f), "+"), "Inf", "∞", 1)
	}
	if locale == "" {
		text := strconv.FormatFloat(f, 'f', 3, 64)
		return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return message.NewPrinter(language.Make(locale)).Sprint(number.Decimal(f, number.MaxFractionDigits(3)))
}

// Lower is a text in lower case, as a language writes it; those that differ are Turkish, Azeri,
// Lithuanian and Greek.
func Lower(s, locale string) string {
	return cases.Lower(language.Make(locale)).String(s)
}

// Upper is a text in upper case, as Lower.
func Upper(s, locale string) string {
	return cases.Upper(language.Make(locale)).String(s)
}
