package replication

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

var errInactive = errors.New("the peer has sent nothing for too long")

// watchdog cancels a request, with errInactive, when no byte has moved for some time, however long
// the request takes as a whole.
type watchdog struct {
	timer *time.Timer
	d     time.Duration
}

func newWatchdog(d time.Duration, cancel context.CancelCauseFunc) *watchdog {
	return &watchdog{timer: time.AfterFunc(d, func() { cancel(errInactive) }), d: d}
}

func (w *watchdog) touch() { w.timer.Reset(w.d) }

func (w *watchdog) stop() { w.timer.Stop() }

// watchedBody is a body whose bytes are signs of life. err is the first error of reading it but its
// end.
type watchedBody struct {
	r     io.Reader
	alive *watchdog
	err   error
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if n > 0 {
		b.alive.touch()
	}
	if err != nil && err != io.EOF && b.err == nil {
		b.err = err
	}
	return n, err
}

// The pace of a peer that answers 429 (couch_replicator_rate_limiter): the wait before each request
// of a method grows by backoffFactor with each refusal and shrinks with each success.
const (
	backoffBase   = 20 * time.Millisecond
	backoffFactor = 1.2
	backoffMax    = 25 * time.Second
	// backoffWindow is the time within which refusals count once: requests that were under way
	// together.
	backoffWindow = 80 * time.Millisecond
)

// limiter holds the pace for each HTTP method of a peer. It is safe for concurrent use.
type limiter struct {
	mu    sync.Mutex
	paces map[string]*pace
}

// interval is the mean pause before a request, changed when it was changed last.
type pace struct {
	interval time.Duration
	changed  time.Time
}

// of gives the pace of a method, which begins with the first request. The lock is held.
func (l *limiter) of(method string) *pace {
	if l.paces == nil {
		l.paces = make(map[string]*pace)
	}
	p := l.paces[method]
	if p == nil {
		p = new(pace)
		l.paces[method] = p
	}
	return p
}

// wait keeps the pace before a request; a peer that refuses for too long ends the replication.
func (l *limiter) wait(ctx context.Context, method string) error {
	l.mu.Lock()
	d := l.of(method).interval
	l.mu.Unlock()
	switch {
	case d >= backoffMax:
		return maxBackoff
	case d < time.Millisecond:
		return nil
	}
	// Between a half and one and a half of the interval: requests that were refused together do not
	// come back together.
	return sleep(ctx, d/2+rand.N(d))
}

// failure slows down after a 429, at least to what the peer asks for.
func (l *limiter) failure(method string, least time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.of(method)
	if now := time.Now(); now.Sub(p.changed) > backoffWindow {
		p.interval = max(backoffBase, time.Duration(float64(p.interval)*backoffFactor))
		p.changed = now
	}
	// A longer Retry-After must not end the replication, as backoffMax does.
	if least > 0 {
		p.interval = max(p.interval, min(least, backoffMax/2))
	}
	return errAgain
}

// success quickens the pace again after an answer that is no 429.
func (l *limiter) success(method string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.of(method); p.interval > 0 {
		// It shrinks by a fifth and a little more, so that it comes to nothing in the end.
		p.interval = p.interval*4/5 - backoffBase/10
		p.changed = time.Now()
	}
}
