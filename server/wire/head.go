package wire

import "bytes"

// spoilt takes the place of a percent sign that begins no escape: a byte net/url lets pass and no client sends unescaped.
const spoilt = 0xff

// fixHead looks at bytes read while a request head is awaited. It neutralises, in place, what net/http would refuse
// and CouchDB would not, and reports whether the request line had a broken escape and whether the head ended.
func fixHead(p []byte) (badTarget, ended bool) {
	head := p
	if i := bytes.Index(p, []byte("\r\n\r\n")); i >= 0 {
		head, ended = p[:i+2], true
	}
	line := head
	if i := bytes.IndexByte(head, '\n'); i >= 0 {
		line = head[:i]
	}
	if bytes.IndexByte(line, '%') >= 0 && isRequestLine(line) {
		badTarget = spoilPercents(line)
	}
	spoilExpect(head)
	return badTarget, ended
}

// isRequestLine tells a request line from a part of a header that happens to begin a read.
func isRequestLine(line []byte) bool {
	line = bytes.TrimSuffix(line, []byte("\r"))
	return bytes.HasSuffix(line, []byte(" HTTP/1.1")) || bytes.HasSuffix(line, []byte(" HTTP/1.0"))
}

// spoilPercents overwrites each percent sign not followed by two hex digits.
func spoilPercents(line []byte) bool {
	bad := false
	for i, c := range line {
		if c == '%' && (i+2 >= len(line) || !isHex(line[i+1]) || !isHex(line[i+2])) {
			line[i], bad = spoilt, true
		}
	}
	return bad
}

func isHex(c byte) bool {
	return c-'0' < 10 || (c|0x20)-'a' < 6
}

// spoilExpect renames every Expect header whose value is not 100-continue, so that net/http does not see it.
func spoilExpect(head []byte) {
	const name = "\nexpect:"
	for rest := head; ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 || i+len(name) > len(rest) {
			return
		}
		rest = rest[i:]
		if rest[1]|0x20 == 'e' && bytes.EqualFold(rest[:len(name)], []byte(name)) {
			value := rest[len(name):]
			if j := bytes.IndexByte(value, '\r'); j >= 0 {
				value = value[:j]
			}
			if !bytes.EqualFold(bytes.TrimSpace(value), []byte("100-continue")) {
				copy(rest[1:], "X-Expt")
			}
		}
		rest = rest[1:]
	}
}
