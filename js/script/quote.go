package script

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// Quote writes a string as SpiderMonkey's toSource() does: in double quotes, ASCII only.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range utf16.Encode([]rune(s)) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(byte(c))
		case c >= ' ' && c <= '~':
			b.WriteByte(byte(c))
		case quoteEscape(c) != 0:
			b.WriteByte('\\')
			b.WriteByte(quoteEscape(c))
		case c < 0x100:
			fmt.Fprintf(&b, `\x%02X`, c)
		default:
			fmt.Fprintf(&b, `\u%04X`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// quoteEscape returns the letter that stands for a control character after a backslash, 0 if there
// is none. SpiderMonkey writes the others in hexadecimal.
func quoteEscape(c uint16) byte {
	switch c {
	case '\b':
		return 'b'
	case '\f':
		return 'f'
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case '\t':
		return 't'
	case '\v':
		return 'v'
	}
	return 0
}
