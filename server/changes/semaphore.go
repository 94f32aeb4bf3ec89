package changes

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// semaphore lets a few feeds work at a time. A write wakes all feeds of its database together:
// where these are thousands, each request of everybody else would wait behind them at each of its
// steps, since what is ready to run runs in the order in which it became ready. A feed that waits
// for the semaphore is not ready.
type semaphore chan struct{}

// maxHold bounds how long a feed keeps its place, so that a client that takes nothing, or a slow
// filter, does not hold up the other feeds.
const maxHold = 20 * time.Millisecond

func newSemaphore() semaphore { return make(semaphore, 2*runtime.NumCPU()) }

// acquire waits for a place; the error is that of ctx. The place is given back by the first call of
// end, or after maxHold.
func (s semaphore) acquire(ctx context.Context) (end func(), err error) {
	select {
	case s <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	over := sync.OnceFunc(func() { <-s })
	timer := time.AfterFunc(maxHold, over)
	return func() {
		timer.Stop()
		over()
	}, nil
}
