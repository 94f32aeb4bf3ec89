package call

import (
	"errors"
	"net/http"
	"sync"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
)

// streamBuffer is how many bytes of a list are gathered before they go out as one chunk.
const streamBuffer = 16 << 10

// keptBuffer is the size up to which a list keeps its buffer for the rows to come.
const keptBuffer = 256 << 10

// streamBuffers are *[]byte of streams that have ended, of twice streamBuffer at most.
var streamBuffers = sync.Pool{New: func() any {
	b := make([]byte, 0, streamBuffer/2)
	return &b
}}

// Stream is a chunked answer. Nothing is sent before the buffer is full, Flush or Close, so an
// error met early is still answered as an ordinary error: return it from the handler and forget the
// Stream.
type Stream struct {
	a      *Answer
	status int
	buf    []byte
	pooled *[]byte // where buf came from; nil: there was none yet
	limit  int
	script bool // JSONP: the last line feed is kept back
}

// Stream begins a chunked JSON answer. Headers may be set until the first byte goes out.
func (a *Answer) Stream(status int) *Stream {
	h := a.Writer.Header()
	if h["Cache-Control"] == nil {
		h["Cache-Control"] = mustRevalidateValue
	}
	if h["Content-Type"] == nil {
		h["Content-Type"] = jsonValue
	}
	s := a.RawStream(status)
	if a.callback != "" {
		h["Content-Type"] = []string{"application/javascript"}
		s.script = true
		s.buf = append(append(append(s.Buffer(), "/* CouchDB */"...), a.callback...), '(')
	}
	return s
}

// RawStream begins a chunked answer of another kind; Content-Type and Cache-Control are the
// caller's.
func (a *Answer) RawStream(status int) *Stream {
	return &Stream{a: a, status: status, limit: streamBuffer}
}

// Limit sets how many bytes are gathered before a chunk goes out.
func (s *Stream) Limit(n int) { s.limit = n }

// Buffer lends the buffer for appending; give it back with Commit. It saves a copy for each row.
func (s *Stream) Buffer() []byte {
	if s.buf == nil {
		s.pooled = streamBuffers.Get().(*[]byte)
		s.buf = (*s.pooled)[:0]
	}
	return s.buf
}

// Rest gives the buffer back until there is something to send again, if it is empty: the stream may
// have nothing to say for hours.
func (s *Stream) Rest() {
	if len(s.buf) == 0 {
		s.giveBack()
	}
}

// giveBack returns the buffer to the pool, unless it has grown: a pool of large buffers would keep
// the memory of the largest answers.
func (s *Stream) giveBack() {
	if s.pooled != nil && s.buf != nil && cap(s.buf) <= 2*streamBuffer {
		*s.pooled = s.buf[:0]
		streamBuffers.Put(s.pooled)
	}
	s.buf, s.pooled = nil, nil
}

// Commit takes the buffer back and sends it when it is full. The error says that the client is
// gone.
func (s *Stream) Commit(b []byte) error {
	s.buf = b
	if len(b) < s.limit {
		return nil
	}
	return s.send()
}

// Send commits a part of a row, and lends the buffer for the rest.
func (s *Stream) Send(b []byte) ([]byte, error) {
	err := s.Commit(b)
	return s.buf, err
}

// Write implements io.Writer.
func (s *Stream) Write(p []byte) (int, error) { return len(p), s.Commit(append(s.Buffer(), p...)) }

// WriteString is Write for strings.
func (s *Stream) WriteString(p string) (int, error) {
	return len(p), s.Commit(append(s.Buffer(), p...))
}

// Pass is Write for bytes that may be many: those are not copied.
func (s *Stream) Pass(p []byte) error {
	if len(p) < s.limit || s.script {
		return s.Commit(append(s.Buffer(), p...))
	}
	if err := s.send(); err != nil {
		return err
	}
	if _, err := s.a.deliver(p); err != nil {
		return ErrClientGone
	}
	return nil
}

// Flush sends what was gathered to the client at once; also the headers when there is nothing yet.
func (s *Stream) Flush() error {
	if err := s.send(); err != nil {
		return err
	}
	if !s.a.head.IsHead() {
		if err := s.a.flush(); err != nil {
			return ErrClientGone
		}
	}
	return nil
}

// Close ends the answer; it returns nil so that handlers can end with it.
func (s *Stream) Close() error {
	if s.script {
		if n := len(s.buf); n > 0 && s.buf[n-1] == '\n' {
			s.buf = s.buf[:n-1]
		}
		s.buf, s.script = append(s.Buffer(), ");\n"...), false
	}
	_ = s.send() // the client is gone: there is nobody to report an error to
	s.giveBack()
	return nil
}

// End ends the answer with tail and a line feed. An answer of which nothing was sent yet has a
// Content-Length.
func (s *Stream) End(tail string) error {
	s.buf = append(append(s.Buffer(), tail...), '\n')
	if s.a.status == 0 && !s.script {
		return s.a.Bytes(s.status, s.buf)
	}
	return s.Close()
}

// send writes the buffer to the client, after the head of the answer if that was not sent yet. It
// returns ErrClientGone where more rows would be work for nobody. The buffer is kept for the next
// rows unless it has grown beyond keptBuffer, so that one large row does not stay in memory for the
// rest of the answer.
func (s *Stream) send() error {
	if s.a.status == 0 {
		s.a.StartHeaders(s.status, -1)
	}
	if s.a.head.IsHead() {
		s.buf = s.buf[:0]
		return ErrClientGone // no one wants the rows: the handler stops
	}
	if len(s.buf) == 0 {
		return nil
	}
	out, kept := s.buf, byte(0)
	if s.script && out[len(out)-1] == '\n' { // it may be the last one, whose place the closing parenthesis takes
		out, kept = out[:len(out)-1], '\n'
	}
	_, err := s.a.deliver(out)
	if s.buf = s.buf[:0]; cap(s.buf) > keptBuffer {
		s.buf = nil
	}
	if kept != 0 {
		s.buf = append(s.Buffer(), kept)
	}
	if err != nil {
		return ErrClientGone
	}
	return nil
}

// StreamErrors answers with the documents that an index could not take: those that list hands to
// send, at most limit. send returns storage.ErrStop when it wants no more, which list may return.
func (a *Answer) StreamErrors(limit int64, list func(send func(id, message string) error) error) error {
	s := a.Stream(http.StatusOK)
	if _, err := s.WriteString(`{"errors":[`); err != nil {
		return err
	}
	separator := "\r\n"
	err := list(func(id, message string) error {
		if limit == 0 {
			return storage.ErrStop
		}
		limit--
		b := ejson.AppendString(append(append(s.Buffer(), separator...), `{"id":`...), id)
		b = ejson.AppendString(append(b, `,"error":`...), message)
		separator = ",\r\n"
		return s.Commit(append(b, '}'))
	})
	if err != nil && !errors.Is(err, storage.ErrStop) {
		return err
	}
	if _, err := s.WriteString("\r\n]}\n"); err != nil {
		return err
	}
	return s.Close()
}
