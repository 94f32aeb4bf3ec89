package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"
)

// This file is the email analyzer: words by Unicode's rules, but addresses of mail and URLs stay
// whole (UAX29URLEmailTokenizer). What names a domain at the top is known from the public suffix
// list.

func splitEmail46(text string, at, longest int) (start, end int, k kind) {
	return scanAddresses(text, at, longest, false)
}

func splitEmail9(text string, at, longest int) (start, end int, k kind) {
	return scanAddresses(text, at, longest, true)
}

// longestLocal bounds how far is looked for the @ of an address, at each character anew.
const longestLocal = 320

// scanAddresses finds the next token: a word as scanWords has it, or an address where one begins at
// or before the word and is longer.
func scanAddresses(text string, at, longest int, modern bool) (start, end int, k kind) {
	for at < len(text) {
		start, end, k = scanWords(text, at, longest, modern)
		// An address may begin with characters that no word begins with, and be longer than the
		// word.
		for ; at < start || at == start && start < end; at++ {
			if !addressStart[text[at]] {
				if at == start {
					break
				}
				continue
			}
			limit := min(len(text), at+longest) // addresses are ASCII
			if mailto := at + len("mailto:"); mailto < limit && strings.EqualFold(text[at:mailto], "mailto:") &&
				mailEnd(text[:limit], mailto) > 0 {
				return at, mailto - 1, kindWord
			}
			to := max(mailEnd(text[:limit], at), urlEnd(text[:limit], at, modern))
			if to > at && (at < start || to > end) {
				return at, to, kindWord
			}
			if at == start {
				break
			}
		}
		if start < end {
			return start, end, k
		}
		at = max(start, at)
	}
	return len(text), len(text), kindWord
}

// bytesOf is a set of bytes; a-z in it stand for all letters and digits.
func bytesOf(list string) (set [256]bool) {
	for i := range len(list) {
		set[list[i]] = true
	}
	for c := byte('0'); c <= '9'; c++ {
		set[c] = true
	}
	for c := byte('a'); c <= 'z'; c++ {
		set[c], set[c-('a'-'A')] = true, true
	}
	return set
}

var (
	alphanumeric = bytesOf("")
	labelBytes   = bytesOf("-")
	localBytes   = bytesOf("!#$%&'*+,-./=?^_`{|}~")
	pathBytes    = bytesOf("-._~;:@&=/")
	queryBytes   = bytesOf("-._~!$&'()*+,;=:@/?")
	loginBytes   = bytesOf("-._~!$&'()*+,;=:")
	filePath     = bytesOf("-._~?:@&=/")
	addressStart = bytesOf("!#$%&'*+,-./=?^_`{|}~\"[")
)

// over is where a run of bytes of a set ends, with bytes in percent form.
func over(text string, at int, set *[256]bool) int {
	for at < len(text) {
		if c := text[at]; c == '%' {
			if at+2 >= len(text) || !isHex(text[at+1]) || !isHex(text[at+2]) {
				break
			}
			at += 3
		} else if set[c] {
			at++
		} else {
			break
		}
	}
	return at
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

// mailEnd is where an address of mail that begins at a byte ends, 0 if there is none.
func mailEnd(text string, at int) int {
	window := text[at:min(len(text), at+longestLocal)]
	if strings.IndexByte(window, '@') < 1 {
		return 0
	}
	i := 0
	if window[0] == '"' {
		if i = quotedEnd(window); i == 0 {
			return 0
		}
		if window[i] == '.' {
			i++
		}
	}
	for i < len(window) && localBytes[window[i]] {
		i++
	}
	if i == len(window) || window[i] != '@' || i == 0 {
		return 0
	}
	domain := at + i + 1
	if byteAt(text, domain) == '[' {
		if to := ipEnd(text, domain+1); to > 0 && byteAt(text, to) == ']' {
			return to + 1
		}
		return 0
	}
	ends := strictDomain(text, domain)
	return ends[0]
}

// quotedEnd is behind a string in quotation marks at the begin of a text, 0 if none ends before the
// text does.
func quotedEnd(text string) int {
	for i := 1; i+1 < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			i++
		case c >= 0x7F, c == 0, c == '\t', c == '\n', c == '\r':
			return 0
		}
	}
	return 0
}

// looseDomain is where labels with dots between them end.
func looseDomain(text string, at int) int {
	end := 0
	for i := at; ; {
		to := labelEnd(text, i)
		if to == i {
			return end
		}
		end = to
		if byteAt(text, to) != '.' {
			return end
		}
		i = to + 1
	}
}

// labelEnd is where a label of a domain ends, which neither begins nor ends with a hyphen.
func labelEnd(text string, at int) int {
	if at >= len(text) || !alphanumeric[text[at]] {
		return at
	}
	end := at
	for end < len(text) && labelBytes[text[end]] {
		end++
	}
	for text[end-1] == '-' {
		end--
	}
	return end
}

// strictDomain is where a domain ends whose last label is one at the top, or begins as one: Lucene
// does not ask what comes behind it. A dot after it belongs to it; the second place is the end
// without that.
func strictDomain(text string, at int) (ends [2]int) {
	stop := min(len(text), at+255)
	for i := at; i < stop; {
		to := labelEnd(text, i)
		if to == i {
			return ends
		}
		if i > at {
			if top := topEnd(text, i, to); top > 0 {
				ends = [2]int{top, top}
				if byteAt(text, top) == '.' {
					ends[0]++
				}
			}
		}
		if byteAt(text, to) != '.' {
			return ends
		}
		i = to + 1
	}
	return ends
}

// topEnd is the end of the longest begin of a label that is a domain at the top.
func topEnd(text string, at, end int) int {
	const longestTop = 24
	for end = min(end, at+longestTop); end >= at+2; end-- {
		if _, listed := publicsuffix.PublicSuffix(strings.ToLower(text[at:end])); listed {
			return end
		}
	}
	return 0
}

// ipEnd is where four numbers with dots between them end.
func ipEnd(text string, at int) int {
	for n := range 4 {
		if n > 0 {
			if byteAt(text, at) != '.' {
				return 0
			}
			at++
		}
		value, digits := 0, 0
		for digits < 3 && at < len(text) && '0' <= text[at] && text[at] <= '9' && value*10+int(text[at]-'0') < 256 {
			value, digits, at = value*10+int(text[at]-'0'), digits+1, at+1
		}
		if digits == 0 {
			return 0
		}
	}
	return at
}

// urlEnd is where a URL that begins at a byte ends, 0 if there is none.
func urlEnd(text string, at int, modern bool) int {
	scheme := schemeEnd(text, at)
	if scheme == 0 {
		ends := strictDomain(text, at)
		if modern {
			ends = wholeDomain(text, ends)
		}
		end := 0
		for _, host := range []int{ends[0], ends[1], ipEnd(text, at)} {
			if host > 0 {
				end = max(end, tailEnd(text, host))
			}
		}
		return end
	}
	host := 0
	if login := over(text, scheme, &loginBytes); byteAt(text, login) == '@' {
		host = looseDomain(text, login+1)
	}
	if host == 0 {
		host = looseDomain(text, scheme)
	}
	if text[at]|0x20 == 'f' {
		file := text[at+1]|0x20 == 'i'
		if host == 0 && !file {
			return 0
		}
		return fileEnd(text, max(host, scheme), file)
	}
	if host == 0 {
		return 0
	}
	return tailEnd(text, host)
}

// wholeDomain takes domains back that Lucene 9 does not see where there is no scheme: before a
// letter or a digit, and a dot at the end before these, a hyphen, or nothing.
func wholeDomain(text string, ends [2]int) [2]int {
	if ends[1] == 0 || wordFollows(text, ends[1]) {
		return [2]int{}
	}
	if ends[0] > ends[1] {
		if c := byteAt(text, ends[0]); ends[0] == len(text) || c == '-' || wordFollows(text, ends[0]) {
			ends[0] = ends[1]
		}
	}
	return ends
}

// wordFollows reports whether a letter or a digit comes next, which an address cannot end before.
func wordFollows(text string, at int) bool {
	r, _ := utf8.DecodeRuneInString(text[at:])
	return isLetter(r) && !unicode.Is(unicode.Han, r) || '0' <= r && r <= '9'
}

// schemeEnd is behind the scheme of a URL, 0 if it has none that is known.
func schemeEnd(text string, at int) int {
	for _, scheme := range []string{"http://", "https://", "ftp://", "file://"} {
		if end := at + len(scheme); end <= len(text) && strings.EqualFold(text[at:end], scheme) {
			return end
		}
	}
	return 0
}

// tailEnd is where port, path, query and fragment end that follow a host.
func tailEnd(text string, at int) int {
	at = portEnd(text, at)
	if byteAt(text, at) == '/' {
		at = over(text, at, &pathBytes)
	}
	for _, mark := range []byte("?#") {
		if byteAt(text, at) == mark {
			at = over(text, at+1, &queryBytes)
		}
	}
	return at
}

// portEnd is the end of a port of at most five digits; at itself where there is none.
func portEnd(text string, at int) int {
	if byteAt(text, at) != ':' {
		return at
	}
	i := at + 1
	for i < len(text) && i < at+6 && '0' <= text[i] && text[i] <= '9' {
		i++
	}
	if i == at+1 {
		return at
	}
	return i
}

// fileEnd is where the path of a file ends; without one there is no URL.
func fileEnd(text string, at int, file bool) int {
	if !file {
		at = portEnd(text, at)
	}
	if byteAt(text, at) != '/' {
		return 0
	}
	at = over(text, at, &filePath)
	const kind = ";type="
	if end := at + len(kind); !file && end < len(text) && strings.EqualFold(text[at:end], kind) &&
		strings.IndexByte("aid", text[end]|0x20) >= 0 {
		at = end + 1
	}
	if byteAt(text, at) == '#' {
		at = over(text, at+1, &queryBytes)
	}
	return at
}

func emailAnalyzer(d Dialect, set stopSet) *Analyzer {
	a := words(d, lowercase, stop(set.or("english")))
	a.split = splitEmail9
	if d == Clouseau {
		a.split = splitEmail46
	}
	return a
}
