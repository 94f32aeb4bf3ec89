package measure

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"
)

const (
	// requestLimit bounds how long a round may take beyond its time; a server that does not answer
	// ends the run.
	requestLimit = 2 * time.Minute
	// joinBelow is the body size up to which head and body are sent with one write.
	joinBelow = 64 << 10

	bufferLarge = 256 << 10 // for bodies of megabytes
	bufferSmall = 2 << 10   // for thousands of connections
)

// conn is a kept-alive connection to a target. Not safe for concurrent use.
type conn struct {
	target *Target
	nc     net.Conn
	out    []byte
	responseReader
}

// request is what varies between requests.
type request struct {
	method string
	path   []byte
	body   []byte
	kind   string // Content-Type of the body, "" for JSON
}

func dial(ctx context.Context, t *Target, buffer int) (*conn, error) {
	c := &conn{target: t}
	c.buf = make([]byte, buffer)
	return c, c.redial(ctx)
}

func (c *conn) redial(ctx context.Context) error {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", c.target.Addr)
	if err != nil {
		return err
	}
	c.nc, c.src, c.r, c.w = nc, nc, 0, 0
	return nil
}

func (c *conn) close() {
	if c.nc != nil {
		c.nc.Close()
	}
}

// limit sets when requests on this connection fail for good.
func (c *conn) limit(d time.Duration) error { return c.nc.SetDeadline(time.Now().Add(d)) }

// do sends a request and reads the answer, which must have the status want.
func (c *conn) do(ctx context.Context, req *request, want int) (response, error) {
	if c.nc == nil {
		if err := c.redial(ctx); err != nil {
			return response{}, err
		}
		if err := c.limit(requestLimit); err != nil {
			return response{}, err
		}
	}
	if err := c.send(req); err != nil {
		return response{}, fmt.Errorf("%s %s: %w", req.method, req.path, err)
	}
	resp, err := c.next()
	if err != nil {
		return resp, fmt.Errorf("%s %s: %w", req.method, req.path, err)
	}
	if resp.closed {
		c.nc.Close()
		c.nc = nil
	}
	if resp.status != want {
		return resp, fmt.Errorf("%s %s: status %d instead of %d: %.300s", req.method, req.path, resp.status, want,
			c.body)
	}
	return resp, nil
}

// send writes a request by hand, because the client shares the processors of the machine with the
// server that it measures. A small body goes out with its head in one packet, and a large one is
// not copied.
func (c *conn) send(req *request) error {
	out := append(c.out[:0], req.method...)
	out = append(out, ' ')
	out = append(out, req.path...)
	out = append(out, " HTTP/1.1\r\nHost: "...)
	out = append(out, c.target.Addr...)
	if c.target.Auth != "" {
		out = append(out, "\r\nAuthorization: "...)
		out = append(out, c.target.Auth...)
	}
	if req.method != "GET" {
		out = append(out, "\r\nContent-Type: "...)
		if req.kind == "" {
			out = append(out, "application/json"...)
		} else {
			out = append(out, req.kind...)
		}
		out = append(out, "\r\nContent-Length: "...)
		out = strconv.AppendInt(out, int64(len(req.body)), 10)
	}
	out = append(out, "\r\nAccept: */*\r\n\r\n"...)
	if len(req.body) <= joinBelow {
		out = append(out, req.body...)
		c.out = out
		_, err := c.nc.Write(out)
		return err
	}
	c.out = out
	both := net.Buffers{out, req.body}
	_, err := both.WriteTo(c.nc)
	return err
}
