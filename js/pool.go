package js

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js/confine"
)

// defaultMemory is the default of Options.Memory.
const defaultMemory = 512 << 20

// Options say how many workers there are and what they may take. The zero value of each member is
// its default.
type Options struct {
	Workers    int           // most worker processes at a time; the number of processors and two more
	PerTenant  int           // most workers that one tenant has at a time; all but one
	Memory     int64         // bytes that a worker may fill; 512 MB, at least 64 MB
	MaxResult  int64         // bytes of results that one crossing may give back; 64 MB
	MaxRows    int64         // bytes of rows of map and index functions, likewise; MaxResult
	Timeout    time.Duration // longest time for one document or function call; 5 s
	Idle       time.Duration // time after which an unused worker ends; 5 min
	Executable string        // the program with RunWorkerIfAsked; this one
	// Confinement is how much of the system workers have; auto. User and Group are those of workers
	// where the server is root; 65534.
	Confinement confine.Level
	User, Group int
	// Confined is told what confines a worker, when the first one has started and whenever that
	// changes. Nil: nobody is. It may be called concurrently.
	Confined func(holds string)
	// Log takes what functions give to log(), at most logsPerCall texts a call. It may be called
	// concurrently.
	Log func(tenant, text string)
}

const (
	// penalty is the time for which a tenant whose call had to be killed gets one worker at a time.
	penalty = time.Minute
	// heavyUse is the time of workers, within the last usePeriods, from which on a tenant's calls
	// are heavy.
	heavyUse  = time.Second
	usePeriod = 10 * time.Second
)

type backgroundKey struct{}

// Background marks calls that nobody waits for: builds of indexes. They leave two workers to
// others: one of them to any call that somebody waits for, one to those of tenants that have not
// used workers for long.
func Background(ctx context.Context) context.Context {
	return context.WithValue(ctx, backgroundKey{}, true)
}

// use is how long a tenant has used workers; half of it counts in the next period.
type use struct {
	time   time.Duration
	period time.Time // its begin
}

// decayed is the use as it counts now.
func (u use) decayed(now time.Time) use {
	for ; u.time > 0 && now.Sub(u.period) >= usePeriod; u.period = u.period.Add(usePeriod) {
		u.time /= 2
		if u.time < heavyUse/64 {
			u.time = 0
		}
	}
	if u.time == 0 {
		u.period = now
	}
	return u
}

// Pool runs JavaScript in worker processes. It is safe for concurrent use.
type Pool struct {
	opts    Options
	timeout atomic.Int64

	mu     sync.Mutex
	idle   []*process // the last one was used last
	total  int        // processes that run or start
	held   map[string]int
	blamed map[string]time.Time // until when the tenant is restricted
	used   map[string]use
	// Workers that heavy calls have, and of them those that builds have.
	heavy, building int
	waiting         []*waiter
	closed          bool
	stop            chan struct{}

	started, killed, repeated atomic.Int64
	mapped, emitted           atomic.Int64 // documents and rows of views
	holds                     atomic.Value // string: what confines the worker that was started last
	metrics                   metrics
}

// waiter is a call that waits for a worker.
type waiter struct {
	tenant     string
	program    digest
	background bool
	ready      chan grant
}

// grant is a worker for a call.
type grant struct {
	tenant  string
	process *process // nil: one is to be started
	// A heavy call is one of a build or of a tenant that has used workers for long.
	heavy, building bool
	since           time.Time
}

// NewPool makes a pool. No process is started before the first call.
func NewPool(opts Options) *Pool {
	if opts.Workers <= 0 {
		opts.Workers = runtime.NumCPU() + 2
	}
	if opts.PerTenant <= 0 {
		opts.PerTenant = max(1, opts.Workers-1)
	}
	if opts.Memory <= 0 {
		opts.Memory = defaultMemory
	}
	opts.Memory = max(opts.Memory, 64<<20)
	if opts.MaxResult <= 0 {
		opts.MaxResult = 64 << 20
	}
	if opts.Idle <= 0 {
		opts.Idle = 5 * time.Minute
	}
	p := &Pool{
		opts:    opts,
		held:    map[string]int{},
		blamed:  map[string]time.Time{},
		used:    map[string]use{},
		stop:    make(chan struct{}),
		metrics: newMetrics(),
	}
	p.SetTimeout(opts.Timeout)
	go p.reap()
	return p
}

// SetTimeout changes the longest time of one call for later calls; 0 is the default.
func (p *Pool) SetTimeout(d time.Duration) {
	if d <= 0 {
		d = 5 * time.Second
	}
	p.timeout.Store(int64(d))
}

// Stats are counters of a pool.
type Stats struct {
	Most    int   // processes that there may be
	Running int   // those that live, busy ones included
	Idle    int   // those that wait for work
	Started int64 // processes started so far
	Killed  int64 // of them, killed for time, memory or a crash
	// Repeated are calls made a second time, since the system had ended their worker.
	Repeated int64
	// Mapped are documents that map functions of views were run over, Emitted the rows that these
	// made of them.
	Mapped, Emitted int64
	Calls           map[string]Calls
}

// Calls are the calls of one command: check, map, reduce, filter, validate, design, list, events,
// check_events.
type Calls struct {
	Count int64
	Took  time.Duration // all of them, waiting for a worker included
}

// Stats tells what the pool has done.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{
		Most:    p.opts.Workers,
		Running: p.total,
		Idle:    len(p.idle),
		Started: p.started.Load(),
		Killed:  p.killed.Load(),

		Repeated: p.repeated.Load(),
		Mapped:   p.mapped.Load(),
		Emitted:  p.emitted.Load(),
		Calls:    p.metrics.perCommand(),
	}
}

var errClosed = compat.NewError(compat.KindServiceUnavailable, "JavaScript is shut down")

// Memory is how many bytes a worker may take.
func (p *Pool) Memory() int64 { return p.opts.Memory }

// Close ends all idle workers; busy ones end with their calls. Later calls fail.
func (p *Pool) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	close(p.stop)
	idle := p.idle
	p.idle, p.total = nil, p.total-len(p.idle)
	p.mu.Unlock()
	for _, w := range idle {
		w.kill()
	}
}

// acquire waits for a worker that tenant may use, preferably one that ran program last. The error
// is that of ctx, or errClosed. A worker that was granted at the moment when ctx ended is given
// back, so that none is lost.
func (p *Pool) acquire(ctx context.Context, tenant string, program digest) (grant, error) {
	if err := ctx.Err(); err != nil {
		return grant{}, err
	}
	background, _ := ctx.Value(backgroundKey{}).(bool)
	w := &waiter{tenant: tenant, program: program, background: background, ready: make(chan grant, 1)}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return grant{}, errClosed
	}
	p.waiting = append(p.waiting, w)
	p.dispatch()
	p.mu.Unlock()
	select {
	case got := <-w.ready:
		return p.start(got)
	case <-p.stop:
	case <-ctx.Done():
	}
	// The grant may have come at the same moment: then it is given back.
	p.mu.Lock()
	for i, other := range p.waiting {
		if other == w {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			p.mu.Unlock()
			return grant{}, stopReason(ctx)
		}
	}
	p.mu.Unlock()
	p.release(<-w.ready)
	return grant{}, stopReason(ctx)
}

func stopReason(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return errClosed
}

// start makes the process of a grant that came without one.
func (p *Pool) start(g grant) (grant, error) {
	if g.process != nil {
		return g, nil
	}
	w, err := startProcess(&p.opts)
	if err != nil {
		p.release(g)
		if errors.Is(err, errEnded) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EAGAIN) {
			return g, errEnded
		}
		return g, compat.NewError(compat.KindInternal, err.Error())
	}
	p.started.Add(1)
	if before, _ := p.holds.Swap(w.holds).(string); before != w.holds && p.opts.Confined != nil {
		p.opts.Confined(w.holds)
	}
	g.process = w
	return g, nil
}

// release gives a worker back; its process is nil if it is gone. The time since the grant is added
// to what the tenant has used. The mutex must not be held.
func (p *Pool) release(g grant) {
	w, tenant, now := g.process, g.tenant, time.Now()
	p.mu.Lock()
	if p.held[tenant]--; p.held[tenant] <= 0 {
		delete(p.held, tenant)
	}
	p.count(g, -1)
	u := p.used[tenant].decayed(now)
	u.time += now.Sub(g.since)
	p.used[tenant] = u
	switch {
	case w == nil:
		p.total--
	case p.closed:
		p.total--
		defer w.kill()
	default:
		w.since = now
		p.idle = append(p.idle, w)
	}
	p.dispatch()
	p.mu.Unlock()
}

// blame restricts a tenant whose call had to be killed.
func (p *Pool) blame(tenant string) {
	p.mu.Lock()
	p.blamed[tenant] = time.Now().Add(penalty)
	p.mu.Unlock()
}

// count adds to the workers that heavy calls have. The mutex is held.
func (p *Pool) count(g grant, n int) {
	if g.heavy {
		p.heavy += n
	}
	if g.building {
		p.building += n
	}
}

// dispatch hands out workers while there are any. First comes the tenant that holds the fewest
// workers; of several, one that has used them little, or else least; then the call that waits
// longest. So a tenant that has used little does not wait for all calls that others make
// meanwhile. Heavy calls and builds never take the last workers (invariant 3). The mutex is held.
func (p *Pool) dispatch() {
	now := time.Now()
	for len(p.waiting) > 0 && (len(p.idle) > 0 || p.total < p.opts.Workers) {
		best := -1
		var least time.Duration
		var g grant
		for i, w := range p.waiting {
			used := p.used[w.tenant].decayed(now).time
			heavy := w.background || used >= heavyUse
			if used < heavyUse {
				used = 0
			}
			held := p.held[w.tenant]
			switch {
			case heavy && p.heavy >= max(1, p.opts.Workers-1),
				w.background && p.building >= max(1, p.opts.Workers-2),
				held >= p.share(w.tenant):
			case best < 0, held < p.held[g.tenant], held == p.held[g.tenant] && used < least:
				best, least = i, used
				g = grant{tenant: w.tenant, heavy: heavy, building: w.background, since: now}
			}
		}
		if best < 0 {
			return
		}
		w := p.waiting[best]
		p.waiting = append(p.waiting[:best], p.waiting[best+1:]...)
		p.held[w.tenant]++
		p.count(g, 1)
		g.process = p.take(w.program)
		w.ready <- g
	}
}

// take removes an idle process, preferably one that ran program last, because it has the program
// compiled; otherwise the one that was used last, so that others become old and end. It returns
// nil if the caller shall start one, which is counted already.
func (p *Pool) take(program digest) *process {
	last := len(p.idle) - 1
	if last < 0 {
		p.total++
		return nil
	}
	best := last
	for i, w := range p.idle {
		if w.program == program {
			best = i
		}
	}
	w := p.idle[best]
	p.idle = append(p.idle[:best], p.idle[best+1:]...)
	return w
}

// share is the number of workers that a tenant may have.
func (p *Pool) share(tenant string) int {
	if until, ok := p.blamed[tenant]; ok {
		if time.Now().Before(until) {
			return 1
		}
		delete(p.blamed, tenant)
	}
	return p.opts.PerTenant
}

// reap ends workers that were idle for long, and forgets tenants that are no longer restricted or
// whose use has decayed, so that the maps do not grow with the number of databases. It runs until
// the pool is closed.
func (p *Pool) reap() {
	tick := time.NewTicker(max(p.opts.Idle/4, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		var old []*process
		p.mu.Lock()
		for len(p.idle) > 0 && time.Since(p.idle[0].since) > p.opts.Idle {
			old = append(old, p.idle[0])
			p.idle = p.idle[1:]
			p.total--
		}
		for tenant, until := range p.blamed {
			if time.Now().After(until) {
				delete(p.blamed, tenant)
			}
		}
		for tenant, u := range p.used {
			if u.decayed(time.Now()).time == 0 {
				delete(p.used, tenant)
			}
		}
		p.mu.Unlock()
		for _, w := range old {
			w.kill()
		}
	}
}
