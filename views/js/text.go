package js

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dop251/goja"
	"golang.org/x/text/cases"
	"golang.org/x/text/collate"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
	"golang.org/x/text/unicode/norm"

	collation "github.com/settee-db/settee/compat/collate"
)

// nativeCompare is localeCompare: two texts, a language tag ("" is the default locale), numeric, and sensitivity.
func (s *sandbox) nativeCompare(c goja.FunctionCall) goja.Value {
	a, b := c.Argument(0).String(), c.Argument(1).String()
	if a == b {
		return s.vm.ToValue(0)
	}
	locale, numeric, sensitivity := c.Argument(2).String(), c.Argument(3).ToBoolean(), c.Argument(4).String()
	exact := !numeric && (locale == "" || sensitivity == "" || sensitivity == "variant")
	switch {
	case exact && locale == "":
		return s.vm.ToValue(comparePOSIX(a, b))
	case exact && strings.HasPrefix(locale, "en"):
		return s.vm.ToValue(collation.CompareStrings([]byte(a), []byte(b)))
	}
	return s.vm.ToValue(s.w.collator(locale, numeric, sensitivity).CompareString(a, b))
}

// comparePOSIX is the order of the locale en_US_POSIX, which CouchDB's engine has as its default: ASCII by code,
// everything else after it in the root order, accents as later levels.
func comparePOSIX(a, b string) int {
	x, y := norm.NFD.String(a), norm.NFD.String(b)
	for {
		p, restX := nextBase(x)
		q, restY := nextBase(y)
		if p != q {
			if p < utf8.RuneSelf || q < utf8.RuneSelf {
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

// nextBase gives the next character that is no combining mark, -1 at the end.
func nextBase(s string) (c rune, rest string) {
	for s != "" {
		c, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		if !unicode.Is(unicode.Mn, c) {
			return c, s
		}
	}
	return -1, ""
}

// collator gives the order of a language; unknown ones have the root order.
func (w *worker) collator(locale string, numeric bool, sensitivity string) *collate.Collator {
	name := fmt.Sprint(locale, " ", numeric, " ", sensitivity)
	if c, ok := w.collators[name]; ok {
		return c
	}
	if len(w.collators) >= 64 {
		clear(w.collators)
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
	w.collators[name] = c
	return c
}

// numberIn writes a number as a locale does, with at most three digits after the point; the default locale has no marks
// between thousands.
func numberIn(f float64, locale string) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strings.Replace(strings.TrimPrefix(fmt.Sprint(f), "+"), "Inf", "∞", 1)
	}
	if locale == "" {
		text := strconv.FormatFloat(f, 'f', 3, 64)
		return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return message.NewPrinter(language.Make(locale)).Sprint(number.Decimal(f, number.MaxFractionDigits(3)))
}

// lowerIn and upperIn change the case as a language does it; the languages that differ are Turkish, Azeri, Lithuanian
// and Greek.
func lowerIn(s, locale string) string {
	return cases.Lower(language.Make(locale)).String(s)
}

func upperIn(s, locale string) string {
	return cases.Upper(language.Make(locale)).String(s)
}
