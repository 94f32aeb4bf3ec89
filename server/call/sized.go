package call

import "io"

// SizedStream begins an answer of a known length; headers, Content-Type included, are the caller's.
// Nothing may be written for HEAD. An error of the writer says that the client is gone.
func (a *Answer) SizedStream(status int, length int64) io.Writer {
	a.StartHeaders(status, length)
	return sizedStream{a}
}

type sizedStream struct{ a *Answer }

// Write implements io.Writer.
func (s sizedStream) Write(p []byte) (int, error) {
	n, err := s.a.deliver(p)
	if err != nil {
		err = ErrClientGone
	}
	return n, err
}

// JSONPieces is a JSON answer that is written in pieces.
type JSONPieces struct {
	sizedStream
	end string
}

// JSONPieces begins a JSON answer of a known length, as JSON does for one that is in memory.
func (a *Answer) JSONPieces(status int, length int64) *JSONPieces {
	a.jsonHeaders()
	start, end := "", "\n"
	if a.callback != "" {
		a.Writer.Header()["Content-Type"] = scriptValue
		start, end = a.scriptStart(), scriptEnd
	}
	a.StartHeaders(status, length+int64(len(start)+len(end)))
	p := &JSONPieces{sizedStream{a}, end}
	_, _ = p.Write([]byte(start)) // the next one fails as well
	return p
}

// Write implements io.Writer. It fails where only the headers are wanted.
func (p *JSONPieces) Write(b []byte) (int, error) {
	if p.a.head.IsHead() {
		return 0, ErrClientGone
	}
	return p.sizedStream.Write(b)
}

// Close ends the answer.
func (p *JSONPieces) Close() error {
	_, err := p.Write([]byte(p.end))
	return err
}
