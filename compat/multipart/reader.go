package multipart

import (
	"bytes"
	"github.com/settee-db/settee/compat"
	"io"
	"strings"
)

// The errors of multipart bodies. The first two are crashes of the real server, which answers 500
// as well.
var (
	ErrNoBoundary = &compat.Error{Kind: compat.KindError, Reason: "the multipart Content-Type has no boundary"}
	ErrTruncated  = &compat.Error{
		Kind:   compat.KindError,
		Reason: "the multipart body ends before its closing boundary",
	}
	ErrBadPartHeader = &compat.Error{Kind: compat.KindBadRequest, Reason: "bad part header"}
)

const (
	multipartBuffer   = 16 << 10
	maxPartHeaderSize = 64 << 10
	partHeaderEnd     = "\r\n\r\n"
)

// Reader reads a multipart body part by part without holding more than a buffer of it. It follows
// couch_httpd:parse_multipart_request: text before the first boundary is skipped, lines end with
// CRLF, a boundary is where its bytes are, whatever stands after them. Not safe for concurrent use.
type Reader struct {
	src       io.Reader
	buf       []byte
	r, w      int // the unread bytes are buf[r:w]
	srcErr    error
	delimiter []byte // CRLF, two dashes, the boundary
	part      *Part  // the one that was handed out last
	started   bool
	err       error // io.EOF after the closing boundary
}

// NewReader reads the multipart body src, whose parts are separated by boundary. Part is an
// io.Reader, so that a nested multipart can be read by another Reader.
func NewReader(src io.Reader, boundary string) *Reader {
	return &Reader{
		src:       src,
		buf:       make([]byte, multipartBuffer+len(boundary)),
		delimiter: []byte("\r\n--" + boundary),
	}
}

// Header holds the headers of a part in their order. Names are in lower case without blanks.
type Header []compat.Param

// Get is the value of a header, "" if there is none. With several of that name the last one counts.
func (h Header) Get(name string) string {
	value, _ := compat.Query(h).Last(name)
	return value
}

// MediaType is the parsed Content-Type of the part.
func (h Header) MediaType() compat.MediaType { return compat.ParseMediaType(h.Get("content-type")) }

// Part is one part of a multipart body. It is valid until the next call of NextPart.
type Part struct {
	Header Header
	m      *Reader
	ended  bool
}

// NextPart skips what is left of the part before and gives the next one. The error is io.EOF after
// the closing boundary, ErrTruncated if src ends before it, ErrBadPartHeader, or that of src.
func (m *Reader) NextPart() (*Part, error) {
	if m.err != nil {
		return nil, m.err
	}
	m.err = m.advance()
	if m.err != nil {
		return nil, m.err
	}
	header, err := m.readHeader()
	if err != nil {
		m.err = err
		return nil, err
	}
	m.part = &Part{Header: header, m: m}
	return m.part, nil
}

// advance moves past the next boundary; io.EOF means that it was the closing one.
func (m *Reader) advance() error {
	if !m.started {
		m.started = true
		if err := m.skipPast(m.delimiter[len("\r\n"):]); err != nil {
			return err
		}
	} else if !m.part.ended {
		if err := m.skipPast(m.delimiter); err != nil {
			return err
		}
		m.part.ended = true
	}
	for m.w-m.r < 2 {
		if err := m.fill(); err != nil {
			return err
		}
	}
	if m.buf[m.r] == '-' && m.buf[m.r+1] == '-' {
		return io.EOF
	}
	return nil
}

// readHeader reads up to the empty line.
func (m *Reader) readHeader() (Header, error) {
	var text []byte
	for {
		i := bytes.Index(m.buf[m.r:m.w], []byte(partHeaderEnd))
		if i >= 0 {
			text = append(text, m.buf[m.r:m.r+i]...)
			m.r += i + len(partHeaderEnd)
			return parsePartHeader(text)
		}
		keep := min(m.w-m.r, len(partHeaderEnd)-1)
		text = append(text, m.buf[m.r:m.w-keep]...)
		m.r = m.w - keep
		if len(text) > maxPartHeaderSize {
			return nil, ErrBadPartHeader
		}
		if err := m.fill(); err != nil {
			return nil, err
		}
	}
}

// parsePartHeader reads the header of a part; names are lower case afterwards. Only spaces are
// trimmed. ErrBadPartHeader is about a line without a colon.
func parsePartHeader(text []byte) (Header, error) {
	var header Header
	for line := range strings.SplitSeq(string(text), "\r\n") {
		if line == "" {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		if !found {
			return nil, ErrBadPartHeader
		}
		name = strings.ToLower(strings.Trim(name, " "))
		header = append(header, compat.Param{Name: name, Value: strings.Trim(value, " ")})
	}
	return header, nil
}

// Read reads the content of the part; io.EOF at its end.
func (p *Part) Read(dst []byte) (int, error) {
	m := p.m
	if m.part != p {
		return 0, io.ErrClosedPipe // a later part was asked for
	}
	if p.ended {
		return 0, io.EOF
	}
	if m.err != nil {
		return 0, m.err
	}
	if len(dst) == 0 {
		return 0, nil
	}
	for {
		n, found := m.until(m.delimiter)
		if n > 0 {
			n = copy(dst, m.buf[m.r:m.r+n])
			m.r += n
			return n, nil
		}
		if found {
			m.r += len(m.delimiter)
			p.ended = true
			return 0, io.EOF
		}
		if m.err = m.fill(); m.err != nil {
			return 0, m.err
		}
	}
}

// skipPast drops everything up to and including pattern.
func (m *Reader) skipPast(pattern []byte) error {
	for {
		n, found := m.until(pattern)
		m.r += n
		if found {
			m.r += len(pattern)
			return nil
		}
		if err := m.fill(); err != nil {
			return err
		}
	}
}

// until gives the number of buffered bytes that surely stand before pattern, and whether pattern
// follows them.
func (m *Reader) until(pattern []byte) (n int, found bool) {
	unread := m.buf[m.r:m.w]
	if i := bytes.Index(unread, pattern); i >= 0 {
		return i, true
	}
	for n = max(0, len(unread)-len(pattern)+1); n < len(unread); n++ {
		if bytes.HasPrefix(pattern, unread[n:]) {
			break
		}
	}
	return n, false
}

// fill reads more of src; the end of src is ErrTruncated.
func (m *Reader) fill() error {
	if m.srcErr != nil {
		return m.srcErr
	}
	if m.r > 0 {
		copy(m.buf, m.buf[m.r:m.w])
		m.w -= m.r
		m.r = 0
	}
	for range 100 {
		n, err := m.src.Read(m.buf[m.w:])
		m.w += n
		if err == io.EOF {
			err = ErrTruncated
		}
		m.srcErr = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	m.srcErr = io.ErrNoProgress
	return m.srcErr
}
