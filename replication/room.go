package replication

import (
	"context"
	"io"

	"github.com/settee-db/settee/compat/ejson"
)

// Share is the memory that one answer of a peer takes out of a budget, which all replications have
// together with other parts of the server.
type Share interface {
	// Take adds so many bytes to the share. It waits for others, for a bounded time; an error says
	// that they are not to be had.
	Take(ctx context.Context, bytes int64) error
	// Release gives the share back.
	Release()
}

const (
	// freeRoom is what every answer may take without asking.
	freeRoom = 64 << 10
	// roomCopies is how many times what is read as a whole is in memory, in bytes of its buffer:
	// that, the one before it, the text on its way to the target, and the document made of it.
	roomCopies = 4
)

// room is the memory that the reader of one answer holds. nil is without bound.
//
// It belongs to one goroutine. What it holds only grows with the buffer while an answer is read,
// and all of it goes back at the end.
type room struct {
	// the context of the request; the decoder that reads the answer gets none
	ctx    context.Context
	share  Share
	buffer int // the buffer size that hold was last called with
	held   int64
}

// hold makes sure of room for a buffer of that many bytes, and gives back what is not needed for it
// any more.
func (r *room) hold(buffer int) error {
	if r == nil {
		return nil
	}
	r.buffer = buffer
	return r.holdParsed(nil)
}

// holdParsed makes sure of room for the values of a text in the buffer, beside the buffer. The
// values of the text before are not needed any more.
func (r *room) holdParsed(text []byte) error {
	if r == nil || r.share == nil {
		return nil
	}
	bytes := int64(0)
	if r.buffer > freeRoom {
		bytes = int64(r.buffer) * roomCopies
	}
	if len(text) > freeRoom {
		bytes += ejson.TapeSize(text)
	}
	// A share cannot shrink: it is given back as a whole, and what is still needed taken anew.
	if bytes < r.held {
		r.share.Release()
		r.held = 0
	}
	if bytes > r.held {
		if err := r.share.Take(r.ctx, bytes-r.held); err != nil {
			return pairFailure("out_of_memory", "too many large answers of peers at the same time: "+err.Error())
		}
		r.held = bytes
	}
	return nil
}

func (r *room) end() { _ = r.hold(0) } // less is always to be had

// readAll reads a text of at most limit bytes, which is to be parsed; longer ones are
// errItemTooLarge.
func (r *room) readAll(from io.Reader, limit int) ([]byte, error) {
	text := make([]byte, 0, 512)
	for {
		if len(text) == cap(text) {
			if err := r.hold(2 * cap(text)); err != nil {
				return nil, err
			}
			text = append(make([]byte, 0, 2*cap(text)), text...)
		}
		n, err := from.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case len(text) > limit:
			return nil, errItemTooLarge
		case err == io.EOF:
			return text, r.holdParsed(text)
		case err != nil:
			return nil, err
		}
	}
}
