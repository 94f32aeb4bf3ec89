package wire

import "bytes"

// after follows what comes after the head of a request, to know whether lines of the next head came
// with it: of that one Read does not see all. It changes nothing, and takes no part in what
// net/http reads.
type after struct {
	state    afterState
	left     int64 // bytes of the body, or of the chunk
	size     int64 // of the chunk whose size is being read
	digits   int   // of that size
	upcoming bool  // a line, or more, has come after the request
}

type afterState byte

const (
	afterBody    afterState = iota // of a known length, which may be 0
	chunkSize                      // in the digits
	chunkSizeEnd                   // before the line feed
	chunkData
	chunkDataCR // after the data
	chunkDataLF
	lastCR // after the chunk of size 0
	lastLF
)

// begin is called when a head has ended.
func (a *after) begin(h *head) {
	*a = after{}
	if h.chunked {
		a.state = chunkSize
	} else if n, ok := h.bodyLength(); ok {
		a.left = n
	} else {
		a.upcoming = true // as far as is known
	}
}

// pass takes bytes as they arrive. Chunks with extensions or trailers, which clients do not send,
// count as if the next head had arrived.
func (a *after) pass(p []byte) {
	for len(p) > 0 && !a.upcoming {
		if a.state == afterBody || a.state == chunkData {
			n := min(a.left, int64(len(p)))
			a.left -= n
			p = p[n:]
			if a.state == chunkData && a.left == 0 {
				a.state = chunkDataCR
			} else if a.left == 0 && bytes.IndexByte(p, '\n') >= 0 {
				a.upcoming = true
			} else if a.left == 0 {
				return
			}
			continue
		}
		a.framing(p[0])
		p = p[1:]
	}
}

// framing takes a byte that is none of a chunk's data.
func (a *after) framing(b byte) {
	want, next := byte('\n'), chunkData
	switch a.state {
	case chunkSize:
		if isHex(b) && a.digits < 15 {
			a.size = a.size<<4 + hexDigit(b)
			a.digits++
			return
		}
		want, next = '\r', chunkSizeEnd
	case chunkSizeEnd:
		if a.left, a.size, a.digits = a.size, 0, 0; a.left == 0 {
			next = lastCR
		}
	case chunkDataCR:
		want, next = '\r', chunkDataLF
	case chunkDataLF:
		next = chunkSize
	case lastCR:
		want, next = '\r', lastLF
	case lastLF:
		next = afterBody
	}
	a.state = next
	a.upcoming = b != want
}

// hexDigit is the value of a digit that is known to be hexadecimal.
func hexDigit(b byte) int64 {
	if b-'0' < 10 {
		return int64(b - '0')
	}
	return int64(b|0x20-'a') + 10
}
