package replication

import (
	"bytes"
	"errors"
	"io"
)

var (
	errStreamSyntax = errors.New("the answer is not the JSON that was expected")
	errItemTooLarge = errors.New("an element of the answer is too large")
)

// objectStream cuts a stream of JSON into objects without holding more than one of them: the
// elements of an array, or the objects of a stream that follow each other. It looks at quotes and
// brackets only; the objects are parsed by others.
//
// Invalid JSON inside an object is not noticed here: whoever parses the object meets it.
type objectStream struct {
	r   io.Reader
	buf []byte
	pos int // unread bytes are buf[pos:]
	// Bytes of one object, at most; a longer one is errItemTooLarge before it is in memory as a
	// whole.
	limit int
	// The stream is inside the array of enter; else objects follow each other to its end.
	array bool
	// Of the reader; it is told once all that was read before it is used up.
	err  error
	room *room // for the buffer
}

// streamBuffer is the size of the buffer while objects are small.
const streamBuffer = 32 << 10

func newObjectStream(r io.Reader, limit int, room *room) *objectStream {
	return &objectStream{r: r, limit: limit, buf: make([]byte, 0, streamBuffer), room: room}
}

// enter skips to the array that is the member name of the object the stream consists of. Members
// before it are skipped.
func (s *objectStream) enter(name string) error {
	if err := s.expect('{'); err != nil {
		return err
	}
	for {
		c, err := s.peek()
		if err != nil {
			return err
		}
		// Commas are skipped wherever they are: the stream is cut, not checked.
		if c == ',' {
			s.pos++
			continue
		}
		if c != '"' {
			return errStreamSyntax
		}
		key, err := s.value()
		if err != nil {
			return err
		}
		found := string(key) == `"`+name+`"`
		if err := s.expect(':'); err != nil {
			return err
		}
		if found {
			s.array = true
			return s.expect('[')
		}
		if _, err := s.value(); err != nil {
			return err
		}
	}
}

// next gives the next object, which is to be parsed, valid until the following call; io.EOF at the
// end of the array or of the stream.
func (s *objectStream) next() ([]byte, error) {
	for {
		c, err := s.peek()
		if errors.Is(err, io.ErrUnexpectedEOF) && !s.array {
			return nil, io.EOF
		}
		if err != nil {
			return nil, err
		}
		switch {
		case c == '{':
			text, err := s.value()
			if err != nil {
				return nil, err
			}
			return text, s.room.holdParsed(text)
		case c == ',' && s.array:
			s.pos++
		case c == ']' && s.array:
			s.pos++
			return nil, io.EOF
		default:
			return nil, errStreamSyntax
		}
	}
}

// peek skips blanks; the error at the end of the stream is io.ErrUnexpectedEOF.
func (s *objectStream) peek() (byte, error) {
	for {
		for ; s.pos < len(s.buf); s.pos++ {
			switch c := s.buf[s.pos]; c {
			case ' ', '\t', '\r', '\n':
			default:
				return c, nil
			}
		}
		if err := s.fill(s.pos); err != nil {
			return 0, err
		}
	}
}

// expect passes over the next character that is no blank, which has to be want.
func (s *objectStream) expect(want byte) error {
	c, err := s.peek()
	if err != nil {
		return err
	}
	if c != want {
		return errStreamSyntax
	}
	s.pos++
	return nil
}

// value gives the JSON value that begins at pos.
func (s *objectStream) value() ([]byte, error) {
	// i is how far it was looked at; depth counts brackets that are open outside of strings.
	i, depth, quoted := s.pos, 0, false
	for {
		if i >= len(s.buf) {
			if i-s.pos > s.limit {
				return nil, errItemTooLarge
			}
			// fill moves what is unread to the front: the position is kept relative to the
			// beginning of the value.
			i -= s.pos
			if err := s.fill(s.pos); err != nil {
				return nil, err
			}
			i += s.pos
			continue
		}
		if quoted {
			j := bytes.IndexAny(s.buf[i:], "\"\\")
			switch {
			case j < 0:
				i = len(s.buf)
			// The byte behind a backslash ends no string; it may not be read yet, which the loop
			// above makes good.
			case s.buf[i+j] == '\\':
				i += j + 2
			default:
				i += j + 1
				if quoted = false; depth == 0 {
					return s.take(i), nil
				}
			}
			continue
		}
		switch s.buf[i] {
		case '"':
			quoted = true
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return s.take(i), nil // the end of a bare value
			}
			if depth--; depth == 0 {
				return s.take(i + 1), nil
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return s.take(i), nil
			}
		}
		i++
	}
}

func (s *objectStream) take(end int) []byte {
	v := s.buf[s.pos:end]
	s.pos = end
	return v
}

// fill reads more after the bytes from keep on, which move to the front of the buffer.
func (s *objectStream) fill(keep int) error {
	if s.err != nil {
		return s.err
	}
	if keep > 0 {
		n := copy(s.buf, s.buf[keep:])
		s.buf, s.pos = s.buf[:n], s.pos-keep
	}
	switch {
	case len(s.buf) == cap(s.buf):
		if err := s.resize(2 * cap(s.buf)); err != nil {
			return err
		}
	case cap(s.buf) > freeRoom && len(s.buf) < streamBuffer/2: // a large object has gone
		if err := s.resize(streamBuffer); err != nil {
			return err
		}
	}
	// io.Reader may give nothing and no error; a peer that does only that must not hold the loop.
	for range 100 {
		n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		s.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	s.err = io.ErrNoProgress
	return s.err
}

// resize moves what is unread into a buffer of another size.
func (s *objectStream) resize(size int) error {
	if s.err = s.room.hold(size); s.err != nil {
		return s.err
	}
	s.buf = append(make([]byte, 0, size), s.buf...)
	return nil
}
