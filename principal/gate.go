package principal

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
)

// ErrBusy refuses a login that has waited too long for its turn.
var ErrBusy = compat.Busy("Too many logins at the same time, try again later.")

// longestWait is how long a login waits for its turn: some thirty hashes of CouchDB's usual 600,000
// iterations.
const longestWait = 10 * time.Second

// gate bounds how many hashes are computed at the same time, so that logins leave the processor to
// other requests. A peer takes part in the queue with one login at a time: a flood from one address
// delays others by one hash.
type gate struct {
	wait time.Duration // the longest
	// How many hashes are computed at a time: half of the processors, so that logins leave some to
	// others.
	slots chan struct{}
	mu    sync.Mutex
	peers map[string]*turn
}

// turn is the queue of one peer; users, guarded by gate.mu, is how many requests are in it.
type turn struct {
	// One hash at a time for each peer; users counts those who wait or compute.
	free  chan struct{}
	users int
}

func newGate() *gate {
	return &gate{
		wait:  longestWait,
		slots: make(chan struct{}, max(1, min(runtime.NumCPU(), runtime.GOMAXPROCS(0))/2)),
		peers: make(map[string]*turn),
	}
}

// enter waits for the peer's turn and a slot; leave gives both back. An error is ErrBusy or the
// context's.
func (g *gate) enter(ctx context.Context, peer string) (leave func(), err error) {
	g.mu.Lock()
	t := g.peers[peer]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		g.peers[peer] = t
	}
	t.users++
	g.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, g.wait, ErrBusy)
	defer cancel()
	select {
	case t.free <- struct{}{}:
	case <-ctx.Done():
		g.forget(peer, t)
		return nil, context.Cause(ctx)
	}
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		<-t.free
		g.forget(peer, t)
		return nil, context.Cause(ctx)
	}
	return func() {
		<-g.slots
		<-t.free
		g.forget(peer, t)
	}, nil
}

// forget drops the turn of a peer with its last user, so that peers who come once leave nothing.
func (g *gate) forget(peer string, t *turn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(g.peers, peer)
	}
}
