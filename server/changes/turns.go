package changes

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// turns let a few feeds work at a time. A write wakes all feeds of its database together: where these are thousands,
// each request of everybody else would wait behind them at each of its steps, since what is ready to run runs in the
// order in which it became ready. What waits for its turn is not ready.
type turns chan struct{}

// turnTime is how long a feed has its turn at most: a client that takes nothing, or a slow filter, holds up nobody.
const turnTime = 20 * time.Millisecond

func newTurns() turns { return make(turns, 2*runtime.NumCPU()) }

// take waits for a turn; the error is that of ctx. The turn ends with the first call of end, or after turnTime.
func (t turns) take(ctx context.Context) (end func(), err error) {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	over := sync.OnceFunc(func() { <-t })
	timer := time.AfterFunc(turnTime, over)
	return func() {
		timer.Stop()
		over()
	}, nil
}
