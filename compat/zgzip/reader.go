package zgzip

import (
	"io"

	"github.com/klauspost/compress/gzip"
)

// NewReader decompresses the gzip stream r. It reads the header at once and gives gzip's error if there is
// none. Close does not close r. A Reader is not safe for concurrent use.
func NewReader(r io.Reader) (io.ReadCloser, error) {
	return gzip.NewReader(r)
}
