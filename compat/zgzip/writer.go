package zgzip

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strconv"
	"sync"
)

// DefaultLevel is CouchDB's default of attachments/compression_level.
const DefaultLevel = 8

// flushSize is how much compressed data is collected before it goes to the underlying writer.
const flushSize = 16 << 10

// maxStep is how much input is compressed before a look at flushSize.
const maxStep = 64 << 10

var errClosed = errors.New("zgzip: write after Close")

var pool = sync.Pool{New: func() any {
	d := new(deflater)
	d.init()
	return d
}}

// Writer compresses what is written to it into one gzip member with zlib's own bytes. It is not
// safe for concurrent use; different Writers are independent.
type Writer struct {
	w    io.Writer
	d    *deflater // nil once closed
	crc  uint32
	size uint32 // of the input, modulo 2^32 as in the trailer
	err  error
}

// NewWriterLevel gives a Writer with a level of 1..9; other levels are an error (CouchDB's level 0
// means "not compressed" and never comes here). Nothing reaches w before enough data is there, or
// Close.
func NewWriterLevel(w io.Writer, level int) (*Writer, error) {
	if level < 1 || level > 9 {
		return nil, errors.New("zgzip: no such compression level: " + strconv.Itoa(level))
	}
	return newWriter(w, level), nil
}

func newWriter(w io.Writer, level int) *Writer {
	d := pool.Get().(*deflater)
	d.reset(level)
	d.out = append(d.out, header(level)...)
	return &Writer{w: w, d: d}
}

// header is zlib's gzip header without name and time; the operating system is Unix.
func header(level int) []byte {
	xfl := byte(0)
	switch level {
	case 9:
		xfl = 2
	case 1:
		xfl = 4
	}
	return []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, xfl, 3}
}

// Write compresses p. It keeps no reference to p. An error of the underlying writer ends the
// stream.
func (w *Writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.d == nil {
		return 0, errClosed
	}
	for done := 0; done < len(p); {
		part := p[done:min(done+maxStep, len(p))]
		w.crc = crc32.Update(w.crc, crc32.IEEETable, part)
		w.size += uint32(len(part))
		w.d.write(part)
		done += len(part)
		if len(w.d.out) >= flushSize {
			if w.flush(); w.err != nil {
				return done, w.err
			}
		}
	}
	return len(p), nil
}

// Close writes the rest and the trailer and gives the memory back. It does not close the underlying
// writer. Further calls do nothing. A Writer that is given up needs no Close; its memory is garbage
// then.
func (w *Writer) Close() error {
	if w.d == nil {
		return w.err
	}
	if w.err == nil {
		w.d.finish()
		w.d.out = binary.LittleEndian.AppendUint32(w.d.out, w.crc)
		w.d.out = binary.LittleEndian.AppendUint32(w.d.out, w.size)
		w.flush()
	}
	w.d.release()
	w.d = nil
	return w.err
}

// release puts d back into the pool without an output buffer of unusual size.
func (d *deflater) release() {
	if cap(d.out) > 4*maxStep {
		d.out = nil
	}
	pool.Put(d)
}

func (w *Writer) flush() {
	_, w.err = w.w.Write(w.d.out)
	w.d.out = w.d.out[:0]
}
