package changes

import (
	"fmt"
	"net/http"
	"runtime/debug"
)

// deep calls f in a goroutine of its own and waits for it: what takes a deep stack, reading the store and answering. A
// stack keeps the size it had to have once, and that of a request lives as long as the feed: with 16 KB instead of 8 it
// was the largest part of what a feed takes that waits. Panics are the caller's.
func deep(f func() error) (err error) {
	var panicked any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if panicked = recover(); panicked != nil && panicked != http.ErrAbortHandler {
				panicked = fmt.Sprintf("%v\n%s", panicked, debug.Stack())
			}
		}()
		err = f()
	}()
	<-done
	if panicked != nil {
		panic(panicked)
	}
	return err
}
