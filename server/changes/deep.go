package changes

import (
	"fmt"
	"net/http"
	"runtime/debug"
)

// deep calls f in a goroutine of its own and waits for it. Reading the store and answering need a
// deep stack, and a goroutine's stack does not shrink while the feed waits: with 16 KB instead of 8
// it was the largest part of the memory of a waiting feed. Panics of f are raised again in the
// caller.
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
