package zgzip

import (
	"errors"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
)

// NewReader decompresses the gzip stream r. It reads the header at once and gives gzip's error if
// there is none. Close does not close r. A Reader is not safe for concurrent use.
func NewReader(r io.Reader) (io.ReadCloser, error) {
	return gzip.NewReader(r)
}

// Malformed reports whether an error of NewReader or of its reader says that the bytes are no gzip
// stream, or not all of one.
func Malformed(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &corrupt)
}
