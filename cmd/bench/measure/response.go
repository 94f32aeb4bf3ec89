package measure

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

var (
	errHeadTooLong = errors.New("the head of the response is longer than the buffer")
	errMalformed   = errors.New("malformed response")
)

// response is the part of an answer that workloads look at.
type response struct {
	status int
	length int64 // bytes of the body, without framing
	lines  int64 // newlines in the body
	closed bool  // the server ends the connection
}

// head is the part of a response's head that says how to read the body.
type head struct {
	status  int
	length  int64 // -1: not given
	chunked bool
	closed  bool
}

// responseReader reads responses off a connection. It allocates nothing but its buffer, and body
// when that is kept.
type responseReader struct {
	src  io.Reader
	buf  []byte // the part r:w is unread
	r, w int

	keep bool   // keep the body of the next response
	body []byte // the body of the last response, if it was kept or its status is an error
	// waiting, if set, is told when the head and the first byte of a body have come.
	waiting func()
	// part, if set, gets the parts of a body as they come; last tells that nothing more has come
	// yet.
	part func(part []byte, last bool)
}

// next reads one response. Interim responses (1xx) are skipped.
func (p *responseReader) next() (response, error) {
	for {
		h, err := p.head()
		if err != nil {
			return response{}, err
		}
		if h.status/100 == 1 {
			continue
		}
		resp := response{status: h.status, closed: h.closed}
		p.body = p.body[:0]
		if p.waiting != nil && h.length != 0 {
			if err := p.fillSome(); err != nil {
				return resp, err
			}
			p.waiting()
		}
		switch {
		case h.status == 204 || h.status == 304:
		case h.chunked:
			err = p.chunks(&resp)
		case h.length >= 0:
			err = p.take(&resp, h.length)
		default:
			resp.closed = true
			err = p.untilEOF(&resp)
		}
		return resp, err
	}
}

func (p *responseReader) head() (head, error) {
	scanned := 0
	for {
		if i := bytes.Index(p.buf[p.r+scanned:p.w], []byte("\r\n\r\n")); i >= 0 {
			end := p.r + scanned + i
			h, err := parseHead(p.buf[p.r:end])
			p.r = end + 4
			return h, err
		}
		scanned = max(0, p.w-p.r-3)
		if err := p.fill(); err != nil {
			return head{}, err
		}
	}
}

// parseHead reads a status line and headers, without the empty line at the end.
func parseHead(b []byte) (head, error) {
	h := head{length: -1}
	line, rest, _ := bytes.Cut(b, []byte("\r\n"))
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) || line[8] != ' ' {
		return h, fmt.Errorf("%w: status line %q", errMalformed, line)
	}
	status, err := parseDecimal(line[9:12])
	if err != nil || status < 100 {
		return h, fmt.Errorf("%w: status line %q", errMalformed, line)
	}
	old := line[7] == '0' // HTTP/1.0, which has no chunks
	h.status, h.closed = int(status), old
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case equalFold(name, "content-length"):
			if h.length, err = parseDecimal(value); err != nil {
				return h, err
			}
		case equalFold(name, "transfer-encoding"):
			h.chunked = !old && equalFold(value, "chunked")
		case equalFold(name, "connection"):
			h.closed = h.closed || equalFold(value, "close")
		}
	}
	return h, nil
}

// equalFold compares with a lower-case ASCII word.
func equalFold(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

func parseDecimal(b []byte) (int64, error) {
	if len(b) == 0 || len(b) > 18 {
		return 0, fmt.Errorf("%w: number %q", errMalformed, b)
	}
	var n int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%w: number %q", errMalformed, b)
		}
		n = n*10 + int64(c-'0')
	}
	return n, nil
}

// chunks reads a body in chunks with its trailer.
func (p *responseReader) chunks(resp *response) error {
	for {
		line, err := p.line()
		if err != nil {
			return err
		}
		size, err := parseChunkSize(line)
		if err != nil {
			return err
		}
		if size == 0 {
			return p.trailer()
		}
		if err := p.take(resp, size); err != nil {
			return err
		}
		if line, err = p.line(); err != nil {
			return err
		}
		if len(line) != 0 {
			return fmt.Errorf("%w: %q after a chunk", errMalformed, line)
		}
	}
}

func (p *responseReader) trailer() error {
	for {
		line, err := p.line()
		if err != nil || len(line) == 0 {
			return err
		}
	}
}

// parseChunkSize reads the size of a chunk in bytes, in hexadecimal digits before any extension.
// Fifteen digits are the most that surely fit an int64.
func parseChunkSize(line []byte) (int64, error) {
	hex, _, _ := bytes.Cut(line, []byte(";"))
	hex = bytes.TrimSpace(hex)
	if len(hex) == 0 || len(hex) > 15 {
		return 0, fmt.Errorf("%w: chunk size %q", errMalformed, line)
	}
	var n int64
	for _, c := range hex {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, fmt.Errorf("%w: chunk size %q", errMalformed, line)
		}
		n = n<<4 | int64(c)
	}
	return n, nil
}

// line reads up to CRLF and returns what is before it, valid until the next read.
func (p *responseReader) line() ([]byte, error) {
	scanned := 0
	for {
		if i := bytes.IndexByte(p.buf[p.r+scanned:p.w], '\n'); i >= 0 {
			end := p.r + scanned + i
			line := bytes.TrimSuffix(p.buf[p.r:end], []byte("\r"))
			p.r = end + 1
			return line, nil
		}
		scanned = p.w - p.r
		if err := p.fill(); err != nil {
			return nil, err
		}
	}
}

// take reads n bytes of the body.
func (p *responseReader) take(resp *response, n int64) error {
	for n > 0 {
		if p.r == p.w {
			if err := p.fill(); err != nil {
				return err
			}
		}
		part := p.buf[p.r:min(p.w, p.r+int(min(n, int64(len(p.buf)))))]
		p.r += len(part)
		n -= int64(len(part))
		p.consume(resp, part)
	}
	return nil
}

func (p *responseReader) untilEOF(resp *response) error {
	for {
		p.consume(resp, p.buf[p.r:p.w])
		p.r = p.w
		if err := p.fill(); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			return err
		}
	}
}

func (p *responseReader) consume(resp *response, part []byte) {
	resp.length += int64(len(part))
	resp.lines += int64(bytes.Count(part, []byte{'\n'}))
	if p.keep || resp.status >= 400 {
		p.body = append(p.body, part...)
	}
	if p.part != nil && resp.status < 400 {
		p.part(part, p.w-p.r <= len("\r\n")) // what ends a chunk may be there
	}
}

func (p *responseReader) fillSome() error {
	if p.r < p.w {
		return nil
	}
	return p.fill()
}

// fill reads more into the buffer; what is unread moves to its front when there is no room after
// it.
func (p *responseReader) fill() error {
	if p.r == p.w {
		p.r, p.w = 0, 0
	}
	if p.w == len(p.buf) {
		if p.r == 0 {
			return errHeadTooLong
		}
		p.w = copy(p.buf, p.buf[p.r:p.w])
		p.r = 0
	}
	n, err := p.src.Read(p.buf[p.w:])
	p.w += n
	if n > 0 {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
