package wire

import (
	"io"
	"net"
	"os"
	"time"
)

const (
	// lingerFor is how long a client may go on sending a request that was answered before its end,
	// and lingerIdle how long nothing may come meanwhile.
	lingerFor  = 30 * time.Second
	lingerIdle = 5 * time.Second
)

// CloseWrite is what net/http calls before it closes a connection whose request it has not read to
// its end: a large body that was refused. Closed at once, what the client still sends would be
// answered by a reset, which takes the answer out of the client's hands: it would see a broken
// connection instead of 413 or 503. So only this side is closed, and what comes is thrown away
// until the client has closed its own, for a time that has a bound (RFC 9112, 9.6).
func (c *Conn) CloseWrite() error { return Linger(c.Conn, lingerFor, lingerIdle) }

// Linger closes the sending side of a connection and discards what arrives, until the other side
// closes, the whole time is over, or nothing arrived for idle. The caller closes the connection
// afterwards.
func Linger(c net.Conn, most, idle time.Duration) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		if err := half.CloseWrite(); err != nil {
			return err
		}
	}
	scratch := make([]byte, 32<<10)
	for end := time.Now().Add(most); ; {
		deadline := time.Now().Add(idle)
		if deadline.After(end) {
			deadline = end
		}
		if err := c.SetReadDeadline(deadline); err != nil {
			return err
		}
		switch _, err := c.Read(scratch); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case !time.Now().Before(end):
			return os.ErrDeadlineExceeded
		}
	}
}
