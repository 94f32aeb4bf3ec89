package replication

import (
	"context"
	"io"
)

// Share is what one answer of a peer holds of memory that all replications share, with others of the server.
type Share interface {
	// Take adds so many bytes to the share. It waits for others, for a bounded time; an error says that they are not to
	// be had.
	Take(ctx context.Context, bytes int64) error
	// Release gives the share back.
	Release()
}

const (
	// freeRoom is what every answer may take without asking.
	freeRoom = 64 << 10
	// roomCopies is how many times what is read as a whole is in memory, in bytes of its text: the buffer, the parsed
	// form, which takes up to seven bytes for one, and the text on its way to the target.
	roomCopies = 9
)

// room is the memory that the reader of one answer holds. nil is without bound.
type room struct {
	ctx   context.Context // of the request whose answer is read, by a decoder that is given none
	share Share
	held  int
}

// hold makes sure of room for a text of that many bytes, and gives back what is not needed for it any more.
func (r *room) hold(bytes int) error {
	if r == nil || r.share == nil {
		return nil
	}
	if bytes <= freeRoom {
		bytes = 0
	}
	if bytes < r.held {
		r.share.Release()
		r.held = 0
	}
	if bytes > r.held {
		if err := r.share.Take(r.ctx, int64(bytes-r.held)*roomCopies); err != nil {
			return pairFailure("out_of_memory", "too many large answers of peers at the same time: "+err.Error())
		}
		r.held = bytes
	}
	return nil
}

func (r *room) end() { _ = r.hold(0) } // less is always to be had

// readAll reads a text of at most limit bytes; longer ones are errItemTooLarge.
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
			return text, nil
		case err != nil:
			return nil, err
		}
	}
}
