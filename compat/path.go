package compat

import "strings"

// ErrURLEncoding is the answer to a `%` without two hexadecimal digits anywhere in a request target
// (chttpd:check_url_encoding).
var ErrURLEncoding = &Error{Kind: KindBadRequest, Reason: "invalid_url_encoding"}

// SplitTarget cuts the target of a request line into the raw path and the raw query; the fragment
// is dropped (mochiweb_util:urlsplit_path). Nothing is decoded.
func SplitTarget(target string) (path, query string) {
	target, _, _ = strings.Cut(target, "#")
	path, query, _ = strings.Cut(target, "?")
	return path, query
}

// CheckURLEncoding gives ErrURLEncoding if a `%` in the request target is not followed by two
// hexadecimal digits. The whole target counts: path, query and fragment. CouchDB looks at it before
// it authenticates.
func CheckURLEncoding(target string) error {
	for {
		i := strings.IndexByte(target, '%')
		if i < 0 {
			return nil
		}
		if len(target) < i+3 || unhex(target[i+1]) < 0 || unhex(target[i+2]) < 0 {
			return ErrURLEncoding
		}
		target = target[i+3:]
	}
}

// PathParts cuts a raw path at its plain slashes, drops empty parts and decodes each of the others.
// plusIsSpace is chttpd/decode_plus_to_space (default true). Parts are bytes: they need not be
// UTF-8, and may hold slashes and NUL.
func PathParts(path string, plusIsSpace bool) []string {
	parts := make([]string, 0, 1+strings.Count(path, "/"))
	for part := range strings.SplitSeq(path, "/") {
		if part != "" {
			parts = append(parts, Unquote(part, plusIsSpace))
		}
	}
	return parts
}

// Unquote decodes %XX, and `+` to a space if wanted. A `%` without two hexadecimal digits stays as
// it is (mochiweb_util:unquote, unquote_path).
func Unquote(s string, plusIsSpace bool) string {
	if strings.IndexByte(s, '%') < 0 && (!plusIsSpace || strings.IndexByte(s, '+') < 0) {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '+' && plusIsSpace:
			c = ' '
		case c == '%' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0:
			c = byte(unhex(s[i+1])<<4 | unhex(s[i+2]))
			i += 2
		}
		out = append(out, c)
	}
	return string(out)
}

// unhex is the value of a hexadecimal digit, -1 for any other character.
func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// EncodeURL writes every byte but A-Z a-z 0-9 `-` `_` `.` `:` as %XX with upper-case digits: the
// form in which names appear in Location headers, slashes included (couch_util:url_encode).
func EncodeURL(s string) string {
	n := 0
	for i := range len(s) {
		if !urlSafe(s[i]) {
			n++
		}
	}
	if n == 0 {
		return s
	}
	const digits = "0123456789ABCDEF"
	out := make([]byte, 0, len(s)+2*n)
	for i := range len(s) {
		if c := s[i]; urlSafe(c) {
			out = append(out, c)
		} else {
			out = append(out, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(out)
}

// urlSafe are the characters that couch_util:url_encode leaves as they are.
func urlSafe(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return c == '_' || c == '.' || c == '-' || c == ':'
}
