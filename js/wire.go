package js

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/settee-db/settee/compat"
)

// maxFrame bounds one frame in either direction, in bytes.
const maxFrame = 256 << 20

// frameKind is the first byte of a frame.
type frameKind byte

// The kinds of frames. A call is answered by any number of asks, chunks and logs and then by one
// result or failure.
const (
	frameCall   frameKind = 'C' // to the worker: command byte, payload
	frameAnswer frameKind = 'A' // to the worker: the answer to an ask or a source
	frameStop   frameKind = 'E' // to the worker: the caller wants no more of the call, which is to end soon
	frameHello  frameKind = 'h' // from the worker: it is ready; a text tells what confines it
	frameResult frameKind = 'r' // from the worker: the end of a call
	frameFail   frameKind = 'f' // from the worker: the end of a call with an error
	frameChunk  frameKind = 'c' // from the worker: a part of the result
	frameAsk    frameKind = 'a' // from the worker: it waits for an answer of the caller
	frameSource frameKind = 's' // from the worker: it waits for the source with this digest
	frameLog    frameKind = 'l' // from the worker: a text given to log()
)

var errFrame = errors.New("js: malformed frame")

// frame is one message. Its payload belongs to the receiver.
type frame struct {
	kind    frameKind
	payload []byte
}

// writeFrame writes a frame whose payload is the concatenation of parts.
func writeFrame(w io.Writer, kind frameKind, parts ...[]byte) error {
	size := 1
	for _, p := range parts {
		size += len(p)
	}
	if size > maxFrame {
		return fmt.Errorf("js: frame of %d bytes is too large", size)
	}
	var head [5]byte
	binary.BigEndian.PutUint32(head[:4], uint32(size))
	head[4] = byte(kind)
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	for _, p := range parts {
		if len(p) == 0 {
			continue
		}
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// readFrame reads one frame; io.EOF means that the stream ended between two frames. Memory grows
// with the bytes that arrive, not with the length that is announced.
func readFrame(r io.Reader) (frame, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:4]); err != nil {
		return frame{}, err
	}
	size := binary.BigEndian.Uint32(head[:4])
	if size == 0 || size > maxFrame {
		return frame{}, errFrame
	}
	if _, err := io.ReadFull(r, head[4:]); err != nil {
		return frame{}, unexpectedEOF(err)
	}
	payload, err := readAll(r, int(size-1))
	if err != nil {
		return frame{}, unexpectedEOF(err)
	}
	return frame{kind: frameKind(head[4]), payload: payload}, nil
}

// readAll reads a payload of a given size. The size comes from the other side, which is not
// trusted, so memory grows with what has arrived, at most doubling, instead of being taken at
// once.
func readAll(r io.Reader, size int) ([]byte, error) {
	const step = 1 << 20
	if size <= step {
		b := make([]byte, size)
		_, err := io.ReadFull(r, b)
		return b, err
	}
	var b []byte
	for len(b) < size {
		n := min(max(step, len(b)), size-len(b))
		b = append(b, make([]byte, n)...)
		if _, err := io.ReadFull(r, b[len(b)-n:]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// encoder builds a payload: unsigned numbers as varints, byte strings after their length.
type encoder struct{ b []byte }

func (e *encoder) uint(n uint64) { e.b = binary.AppendUvarint(e.b, n) }

func (e *encoder) bool(v bool) {
	if v {
		e.b = append(e.b, 1)
	} else {
		e.b = append(e.b, 0)
	}
}

func (e *encoder) bytes(v []byte) {
	e.uint(uint64(len(v)))
	e.b = append(e.b, v...)
}

func (e *encoder) string(v string) {
	e.uint(uint64(len(v)))
	e.b = append(e.b, v...)
}

func (e *encoder) list(vs [][]byte) {
	e.uint(uint64(len(vs)))
	for _, v := range vs {
		e.bytes(v)
	}
}

// decoder reads what an encoder wrote. After the first malformed item every method gives zero
// values and err is set, so that callers check once. Byte strings alias the input.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail() {
	d.err, d.b = errFrame, nil
}

func (d *decoder) uint() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[size:]
	return n
}

// count reads the length of a list whose items take at least one byte each.
func (d *decoder) count() int {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) bool() bool {
	if len(d.b) == 0 {
		d.fail()
		return false
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v != 0
}

func (d *decoder) bytes() []byte {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.fail()
		return nil
	}
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) string() string { return string(d.bytes()) }

func (d *decoder) list() [][]byte {
	n := d.count()
	vs := make([][]byte, 0, min(n, 1<<12))
	for ; n > 0 && d.err == nil; n-- {
		vs = append(vs, d.bytes())
	}
	return vs
}

func encodeError(err *compat.Error) []byte {
	var e encoder
	e.uint(uint64(err.Kind))
	e.string(err.Name)
	e.string(err.Reason)
	e.string(err.ReasonJSON)
	return e.b
}

func decodeError(payload []byte) error {
	d := decoder{b: payload}
	kind := compat.Kind(d.uint())
	err := &compat.Error{Kind: kind, Name: d.string(), Reason: d.string(), ReasonJSON: d.string()}
	if d.err != nil {
		return d.err
	}
	return err
}
