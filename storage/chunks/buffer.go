package chunks

import (
	"errors"
	"io"
	"slices"
)

// firstRoom is the memory that the first chunk begins with, so that an upload which has hardly
// begun holds little. Further chunks get their whole size at once: as many bytes have already come.
const firstRoom = 32 << 10

// Buffer keeps bytes in chunks. It is not for concurrent use.
type Buffer struct {
	// Bytes of a chunk, of the first one, and of all that are held.
	size  int
	first int
	all   [][]byte // the last one may be empty
	held  int
}

// New makes a buffer of chunks of size bytes. Expected is how many bytes are going to come,
// negative if that is not known.
func New(size int, expected int64) *Buffer {
	first := min(firstRoom, size)
	if expected >= 0 && expected < int64(first) {
		first = max(int(expected), 1)
	}
	return &Buffer{size: size, first: first}
}

// Of makes a buffer of bytes that it does not copy.
func Of(size int, b []byte) *Buffer {
	return &Buffer{size: size, first: size, all: slices.Collect(slices.Chunk(b, size)), held: len(b)}
}

// Room is where the next bytes go: at least one.
func (b *Buffer) Room() []byte {
	n := len(b.all)
	if n == 0 || len(b.all[n-1]) == b.size {
		b.all = append(b.all, make([]byte, 0, b.first))
		b.first = b.size
		n++
	}
	last := b.all[n-1]
	if len(last) == cap(last) {
		last = append(make([]byte, 0, min(2*len(last), b.size)), last...)
		b.all[n-1] = last
	}
	return last[len(last):cap(last)]
}

// Take adds the first n bytes of the Room and returns them.
func (b *Buffer) Take(n int) []byte {
	last := &b.all[len(b.all)-1]
	at := len(*last)
	*last = (*last)[:at+n]
	b.held += n
	return (*last)[at:]
}

// Add adds p, piece by piece; took is told of each, and may empty the buffer.
func (b *Buffer) Add(p []byte, took func([]byte) error) (int, error) {
	for rest := p; len(rest) > 0; {
		n := copy(b.Room(), rest)
		rest = rest[n:]
		if err := took(b.Take(n)); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Fill is Add of all that r gives, which goes straight to the room.
func (b *Buffer) Fill(r io.Reader, took func([]byte) error) (read int64, err error) {
	for err == nil {
		var n int
		n, err = r.Read(b.Room())
		read += int64(n)
		if failed := took(b.Take(n)); failed != nil {
			return read, failed
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return read, err
}

// Len is how many bytes there are.
func (b *Buffer) Len() int { return b.held }

// Chunks returns the bytes. The buffer is empty then, and does not touch them any more.
func (b *Buffer) Chunks() [][]byte {
	all := b.all
	if n := len(all); n > 0 && len(all[n-1]) == 0 {
		all = all[:n-1]
	}
	b.all, b.held = nil, 0
	return all
}
