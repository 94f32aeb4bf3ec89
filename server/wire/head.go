package wire

import (
	"bytes"
	"strconv"
	"strings"
)

// spoilt takes the place of a percent sign that begins no escape: a byte net/url lets pass and no
// client sends unescaped.
const spoilt = 0xff

// head is the part of a request's head that has been read so far; a head may come in any number of
// reads.
type head struct {
	begun           bool     // the first line, which is the request line, has ended
	size            int      // how much of the line that is being read has come
	start           [40]byte // how that line begins: the longest name looked for, with its colon and a number
	length, chunked bool     // Content-Length, Transfer-Encoding
	lengthLine      string   // the beginning of the line of Content-Length
}

// bodyLength is what Content-Length says, 0 where there is none; false if it says nothing that is
// understood here.
func (h *head) bodyLength() (int64, bool) {
	if !h.length {
		return 0, true
	}
	_, value, _ := strings.Cut(h.lengthLine, ":")
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
	return n, err == nil && n >= 0 && len(h.lengthLine) < len(h.start)
}

// fix looks at bytes read while a head is awaited. It neutralises, in place, what net/http would
// refuse and CouchDB would not, and reports whether the request line had a broken escape, how many
// of the bytes are the head's, and whether it ended. Like net/http it takes a line feed alone for
// the end of a line. What it neutralises must come in one read; what frames a body is seen in any
// case.
func (h *head) fix(p []byte) (badTarget bool, used int, ended bool) {
	all := len(p)
	for len(p) > 0 {
		line, rest, ends := bytes.Cut(p, []byte{'\n'})
		p = rest
		whole := ends && h.size == 0
		copy(h.start[min(h.size, len(h.start)):], line)
		h.size += len(line)
		switch {
		case !h.begun:
			if ends && isRequestLine(line) && spoilPercents(line) {
				badTarget = true
			}
		case whole:
			hideExpectation(line)
		}
		if !ends {
			break
		}
		if h.begun && (h.size == 0 || h.size == 1 && h.start[0] == '\r') {
			return badTarget, all - len(p), true
		}
		if h.begun {
			start := h.start[:min(h.size, len(h.start))]
			if isHeader(start, "content-length") {
				h.length, h.lengthLine = true, string(start)
			}
			h.chunked = h.chunked || isHeader(start, "transfer-encoding")
		}
		h.begun, h.size = true, 0
	}
	return badTarget, all, false
}

// hideExpectation renames an Expect header whose value is not 100-continue, so that net/http does
// not see it.
func hideExpectation(line []byte) {
	const name = "expect"
	if isHeader(line, name) && !bytes.EqualFold(bytes.TrimSpace(line[len(name)+1:]), []byte("100-continue")) {
		copy(line, "X-Expt")
	}
}

// isHeader reports whether a line is the header of a name.
func isHeader(line []byte, name string) bool {
	return len(line) > len(name) && line[len(name)] == ':' && bytes.EqualFold(line[:len(name)], []byte(name))
}

// isRequestLine reports whether a line, or the end of one, ends like a request line.
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
