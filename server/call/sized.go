package call

import "io"

// SizedStream begins an answer of a known length; headers, Content-Type included, are the caller's. Nothing may be
// written for HEAD. An error of the writer says that the client is gone.
func (c *Call) SizedStream(status int, length int64) io.Writer {
	c.StartHeaders(status, length)
	return sizedStream{c}
}

type sizedStream struct{ c *Call }

// Write implements io.Writer.
func (s sizedStream) Write(p []byte) (int, error) {
	n, err := s.c.deliver(p)
	if err != nil {
		err = ErrClientGone
	}
	return n, err
}
