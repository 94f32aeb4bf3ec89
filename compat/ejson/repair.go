package ejson

import (
	"unicode/utf16"
	"unicode/utf8"
)

// repairUTF8 makes UTF-8 of bytes that are none, as jiffy_utf8:fix does before it prints:
// characters are decoded whatever their form, two encoded surrogates become the character they
// stand for, and each broken sequence, surrogate left alone or code point that is no character
// becomes one U+FFFD.
func repairUTF8(s []byte) []byte {
	out := make([]byte, 0, len(s)+8)
	for i := 0; i < len(s); {
		r, size := looseRune(s[i:])
		i += size
		if r >= 0xD800 && r <= 0xDFFF && i < len(s) {
			if low, lowSize := looseRune(s[i:]); utf16.IsSurrogate(low) {
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					r = pair
					i += lowSize
				}
			}
		}
		if r == 0xFFFE || r == 0xFFFF {
			r = utf8.RuneError
		}
		out = utf8.AppendRune(out, r) // surrogates and what is beyond U+10FFFF come out as U+FFFD
	}
	return out
}

// looseRune decodes the bits of one sequence, overlong ones and surrogates included; a broken lead
// byte goes together with all continuation bytes after it.
func looseRune(s []byte) (rune, int) {
	lead := s[0]
	for _, form := range [...]struct {
		mask, bits byte
		more       int
	}{{0x80, 0x00, 0}, {0xE0, 0xC0, 1}, {0xF0, 0xE0, 2}, {0xF8, 0xF0, 3}} {
		if lead&form.mask != form.bits || len(s) <= form.more {
			continue
		}
		r, whole := rune(lead&^form.mask), true
		for _, c := range s[1 : 1+form.more] {
			whole = whole && isContinuation(c)
			r = r<<6 | rune(c&0x3F)
		}
		if whole {
			return r, 1 + form.more
		}
	}
	n := 1
	for n < len(s) && isContinuation(s[n]) {
		n++
	}
	return utf8.RuneError, n
}

func isContinuation(c byte) bool { return c&0xC0 == 0x80 }
