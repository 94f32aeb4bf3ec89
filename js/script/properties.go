package script

import (
	"strings"
	"unicode"
)

// generalCategories are the long names of Unicode's general categories that \\p{…} knows.
var generalCategories = map[string]string{
	"Letter": "L", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Titlecase_Letter": "Lt", "Modifier_Letter": "Lm",
	"Other_Letter": "Lo", "Mark": "M", "Nonspacing_Mark": "Mn", "Spacing_Mark": "Mc", "Enclosing_Mark": "Me", "Number": "N",
	"Decimal_Number": "Nd", "Letter_Number": "Nl", "Other_Number": "No", "Punctuation": "P", "Connector_Punctuation": "Pc",
	"Dash_Punctuation": "Pd", "Open_Punctuation": "Ps", "Close_Punctuation": "Pe", "Initial_Punctuation": "Pi",
	"Final_Punctuation": "Pf", "Other_Punctuation": "Po", "Symbol": "S", "Math_Symbol": "Sm", "Currency_Symbol": "Sc",
	"Modifier_Symbol": "Sk", "Other_Symbol": "So", "Separator": "Z", "Space_Separator": "Zs", "Line_Separator": "Zl",
	"Paragraph_Separator": "Zp", "Other": "C", "Control": "Cc", "Format": "Cf", "Private_Use": "Co",
	"punct": "P", "digit": "Nd", "Combining_Mark": "M",
}

// ExpandProperties spells out the Unicode properties of a regular expression with the flag u, which
// goja does not know: \\p{L} becomes a class of ranges. Unknown names stay. Any text may be given.
func ExpandProperties(pattern string) string {
	if !strings.Contains(pattern, `\p{`) && !strings.Contains(pattern, `\P{`) {
		return pattern
	}
	var b strings.Builder
	inClass := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			if ranges, size := propertyAt(pattern[i:]); size > 0 {
				if inClass {
					b.WriteString(ranges)
				} else {
					b.WriteString("[" + ranges + "]")
				}
				i += size - 1
				continue
			}
			b.WriteString(pattern[i : i+2])
			i++
			continue
		case c == '[':
			inClass = true
		case c == ']':
			inClass = false
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}

// propertyAt gives the ranges of the property escape that s begins with, and its length; 0 if it is
// none.
func propertyAt(s string) (ranges string, size int) {
	end := strings.IndexByte(s, '}')
	if end < 4 || s[2] != '{' || s[1] != 'p' && s[1] != 'P' {
		return "", 0
	}
	table := propertyTable(s[3:end])
	if table == nil {
		return "", 0
	}
	return classOf(table, s[1] == 'P'), end + 1
}

// propertyTable returns the characters that have a property as it is written between \p{ and }: a
// script, a general category by its short or long name, or a binary property (ECMAScript,
// CharacterClassEscape). Go's tables stand in for those of Unicode; Alphabetic, Uppercase and
// Lowercase are the categories, without the few characters that Unicode adds. It returns nil for
// an unknown name.
func propertyTable(name string) *unicode.RangeTable {
	kind, value, ok := strings.Cut(name, "=")
	if !ok {
		kind, value = "", name
	}
	switch kind {
	case "Script", "sc", "Script_Extensions", "scx":
		return unicode.Scripts[value]
	case "", "General_Category", "gc":
	default:
		return nil
	}
	if short := generalCategories[value]; short != "" {
		value = short
	}
	if table := unicode.Categories[value]; table != nil {
		return table
	}
	if kind != "" {
		return nil
	}
	switch value {
	case "Any":
		return &unicode.RangeTable{R32: []unicode.Range32{{Lo: 0, Hi: unicode.MaxRune, Stride: 1}}}
	case "ASCII":
		return &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0, Hi: 0x7F, Stride: 1}}, LatinOffset: 1}
	case "Alphabetic", "Alpha":
		return unicode.L
	case "Uppercase", "Upper":
		return unicode.Lu
	case "Lowercase", "Lower":
		return unicode.Ll
	}
	return unicode.Properties[value]
}

// classOf writes a table as the inside of a character class.
func classOf(table *unicode.RangeTable, negated bool) string {
	var b strings.Builder
	next := rune(0) // first code point that is not decided yet, for negated classes
	add := func(lo, hi rune) {
		if !negated {
			writeRange(&b, lo, hi)
			return
		}
		if lo > next {
			writeRange(&b, next, lo-1)
		}
		next = hi + 1
	}
	for _, r := range table.R16 {
		eachRange(rune(r.Lo), rune(r.Hi), rune(r.Stride), add)
	}
	for _, r := range table.R32 {
		eachRange(rune(r.Lo), rune(r.Hi), rune(r.Stride), add)
	}
	if negated && next <= unicode.MaxRune {
		writeRange(&b, next, unicode.MaxRune)
	}
	return b.String()
}

func eachRange(lo, hi, stride rune, add func(lo, hi rune)) {
	if stride == 1 {
		add(lo, hi)
		return
	}
	for c := lo; c <= hi; c += stride {
		add(c, c)
	}
}

// writeRange leaves out surrogates, which are no characters of a text.
func writeRange(b *strings.Builder, lo, hi rune) {
	if lo < 0xD800 && hi > 0xDFFF {
		writeRange(b, lo, 0xD7FF)
		writeRange(b, 0xE000, hi)
		return
	}
	if lo >= 0xD800 && lo <= 0xDFFF {
		lo = 0xE000
	}
	if hi >= 0xD800 && hi <= 0xDFFF {
		hi = 0xD7FF
	}
	if lo > hi {
		return
	}
	writeClassRune(b, lo)
	if hi > lo {
		b.WriteByte('-')
		writeClassRune(b, hi)
	}
}

func writeClassRune(b *strings.Builder, c rune) {
	const hexDigits = "0123456789abcdef"
	if c < 0x80 {
		b.WriteString(`\x`)
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
		return
	}
	b.WriteRune(c)
}
