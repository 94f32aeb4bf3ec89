package main

import (
	"bytes"
	"sync"
)

// output watches the log of the server.
type output struct {
	mu      sync.Mutex
	line    int // length of the line that is being written
	longest int
	bytes   int64
	panics  int
}

// panicMark is in every line about a bug that the server has survived.
var panicMark = []byte("msg=panic")

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes += int64(len(p))
	o.panics += bytes.Count(p, panicMark) // the server writes a line at a time
	for rest := p; ; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			o.line += len(rest)
			o.longest = max(o.longest, o.line)
			return len(p), nil
		}
		o.longest = max(o.longest, o.line+end)
		o.line, rest = 0, rest[end+1:]
	}
}

// seen returns how many panics there were, and the longest line in bytes.
func (o *output) seen() (panics, longest int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.panics, o.longest
}
