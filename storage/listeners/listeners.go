package listeners

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
)

// Read reads the state of the database with the name that it was made for. Since is the value of an
// earlier state, or nil.
type Read func(ctx context.Context, since []byte) (State, error)

// State tells which database has a name, by its UUID, and the key that every update of that database
// sets, with the value of it.
type State struct {
	UUID       [16]byte
	Key, Value []byte
	// Named are the principals whose feed may have a row of the updates since the value that was
	// given; nil: those of all.
	Named map[string]bool
}

// Listeners are those of all databases of a store. It is safe for concurrent use.
type Listeners struct {
	kv  kv.Store
	ctx context.Context                           // the store's life
	run func(task func(ctx context.Context)) bool // begins a task that ends with ctx; false if the store is closed

	mu   sync.Mutex
	hubs map[string]*hub // of the databases that have listeners
}

// New makes the listeners of a store whose life is ctx; run begins a task that ends with it, and is
// false if the store is closed.
func New(ctx context.Context, store kv.Store, run func(task func(ctx context.Context)) bool) *Listeners {
	return &Listeners{kv: store, ctx: ctx, run: run, hubs: make(map[string]*hub)}
}

// Count tells how many databases have listeners, and how many those are.
func (ls *Listeners) Count() (databases, listeners int) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, h := range ls.hubs {
		listeners += h.listeners
	}
	return len(ls.hubs), listeners
}

// hub fans the updates of one database out.
type hub struct {
	all  *Listeners
	name string
	// Reads the key that changes with each update, and where it is.
	read      Read
	listeners int // guarded by Listeners.mu
	stop      context.CancelFunc
	ready     chan struct{} // closed when uuid is set, or err
	uuid      [16]byte

	mu    sync.Mutex
	every signal                        // of the listeners that every update wakes
	some  map[*Listener]bool            // the others
	named map[string]map[*Listener]bool // which are these, by their principals
	err   error                         // set when the hub has ended
}

// signal wakes those that wait for it. It is guarded by hub.mu.
type signal struct {
	updates uint64        // how often it woke them
	changed chan struct{} // closed at the next update, then replaced
}

func (s *signal) wake() {
	s.updates++
	close(s.changed)
	s.changed = make(chan struct{})
}

// Listener tells of the updates of one database. Its methods are not for concurrent use, but Close
// may be called at any time.
type Listener struct {
	hub        *hub
	signal     *signal  // the hub's, or its own
	principals []string // whose feeds it waits for; nil: that of all
	seen       uint64   // updates of the signal that Wait has reported, and those before Listen
	close      sync.Once
}

// closedChan is what C returns when Wait would not wait.
var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Listen registers for the updates of the database of a name, which read reads; principals are those
// whose feeds are waited for, nil: everybody's. Updates committed after it returned are reported by
// the listener, so listen first and read then. The error is compat.ErrNoDatabase if there is none.
// The caller closes the listener.
func (ls *Listeners) Listen(ctx context.Context, name string, principals []string, read Read) (*Listener, error) {
	for {
		l := &Listener{hub: ls.join(name, read), principals: principals}
		err := l.begin(ctx)
		if err == nil {
			return l, nil
		}
		l.Close()
		if !errors.Is(err, errStaleHub) {
			return nil, err
		}
	}
}

// errStaleHub: the hub watches an earlier database of the name and has not noticed yet.
var errStaleHub = errors.New("storage/listeners: database was created anew")

// begin waits until the hub knows which database it watches, and compares that with the database
// that has the name now. A hub can lag behind a deletion: a listener of the new database must not
// join it, so it is replaced.
func (l *Listener) begin(ctx context.Context) error {
	h := l.hub
	select {
	case <-h.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := l.attach()
	if err != nil && !errors.Is(err, compat.KindNoDatabase) {
		return err
	}
	now, readErr := h.read(ctx, nil)
	if readErr != nil {
		return readErr
	}
	if err != nil || now.UUID != h.uuid {
		h.all.leave(h)
		return errStaleHub
	}
	return nil
}

// attach makes the listener one of those that the hub wakes, from now on. The error is the hub's
// end.
func (l *Listener) attach() error {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.signal = &h.every; l.principals != nil {
		l.signal = &signal{changed: make(chan struct{})}
		h.some[l] = true
	}
	for _, p := range l.principals {
		if h.named[p] == nil {
			h.named[p] = make(map[*Listener]bool)
		}
		h.named[p][l] = true
	}
	l.seen = l.signal.updates
	return h.err
}

// detach undoes attach.
func (l *Listener) detach() {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.some, l)
	for _, p := range l.principals {
		if delete(h.named[p], l); len(h.named[p]) == 0 {
			delete(h.named, p)
		}
	}
}

// join registers one more listener at the database's hub, which is begun if there is none.
func (ls *Listeners) join(name string, read Read) *hub {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	h := ls.hubs[name]
	if h == nil {
		ctx, stop := context.WithCancel(ls.ctx)
		h = &hub{
			all: ls, name: name, read: read, stop: stop, ready: make(chan struct{}),
			every: signal{changed: make(chan struct{})},
			some:  make(map[*Listener]bool), named: make(map[string]map[*Listener]bool),
		}
		ls.hubs[name] = h
		watch := func(context.Context) {
			h.end(h.watch(ctx))
			ls.leave(h)
		}
		if !ls.run(watch) {
			delete(ls.hubs, name)
			h.end(kv.ErrClosed)
		}
	}
	h.listeners++
	return h
}

// leave removes a hub that has ended, so that the next listener starts a new one.
func (ls *Listeners) leave(h *hub) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.hubs[h.name] == h {
		delete(ls.hubs, h.name)
	}
}

// Close ends the listener.
func (l *Listener) Close() {
	l.close.Do(func() {
		l.detach()
		h, ls := l.hub, l.hub.all
		ls.mu.Lock()
		defer ls.mu.Unlock()
		h.listeners--
		if h.listeners == 0 {
			h.stop()
			if ls.hubs[h.name] == h {
				delete(ls.hubs, h.name)
			}
		}
	})
}

// Wait returns nil as soon as there was an update since Listen or since the last Wait that returned
// nil, whatever it updated and at most once for each update. The errors are compat.ErrNoDatabase
// when the database was deleted (even if there is one of that name again), kv.ErrClosed when the
// Store was closed, or ctx's.
func (l *Listener) Wait(ctx context.Context) error {
	for {
		pending, changed, err := l.look()
		if pending || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// C returns a channel that is closed when Wait would not wait; for use in a select, followed by
// Wait.
func (l *Listener) C() <-chan struct{} {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil || l.signal.updates != l.seen {
		return closedChan
	}
	return l.signal.changed
}

// look takes an update that was not reported yet.
func (l *Listener) look() (pending bool, changed <-chan struct{}, err error) {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return false, nil, h.err
	}
	pending = l.signal.updates != l.seen
	l.seen = l.signal.updates
	return pending, l.signal.changed, nil
}

// since is the value after which a read tells whom updates name; nil if nobody asks.
func (h *hub) since(value []byte) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.some) == 0 {
		return nil
	}
	return value
}

// watch wakes the listeners at every update until ctx ends or the database is gone.
func (h *hub) watch(ctx context.Context) error {
	seen, err := h.readPatiently(ctx, nil)
	if err != nil {
		return err
	}
	h.uuid = seen.UUID
	close(h.ready)
	for {
		if err := h.all.kv.Watch(ctx, seen.Key, seen.Value); err != nil {
			return err
		}
		now, err := h.readPatiently(ctx, h.since(seen.Value))
		if err != nil {
			return err
		}
		if now.UUID != h.uuid {
			return compat.ErrNoDatabase
		}
		if bytes.Equal(now.Value, seen.Value) { // a write that changed nothing, or a watch that ended early
			continue
		}
		seen = now
		h.wake(nil, now.Named)
	}
}

// awayPause is how long a hub waits that has found the store not answering.
const awayPause = time.Second

// readPatiently is read, however long the store does not answer: whoever listens goes on when it
// does.
func (h *hub) readPatiently(ctx context.Context, since []byte) (State, error) {
	for {
		s, err := h.read(ctx, since)
		if !errors.Is(err, kv.ErrUnavailable) && !errors.Is(err, kv.ErrTooOld) {
			return s, err
		}
		since = nil // so much was updated that all are woken
		select {
		case <-time.After(awayPause):
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
}

// end marks the hub as ended with err and wakes all listeners, who see the error.
func (h *hub) end(err error) {
	h.stop()
	if h.all.ctx.Err() != nil {
		err = kv.ErrClosed
	}
	h.wake(err, nil)
	select {
	case <-h.ready:
	default:
		close(h.ready)
	}
}

// wake lets those go on who wait for the feeds of the named principals, and for that of all; nil:
// everybody. The channel that they wait for is closed and replaced. err ends the hub.
func (h *hub) wake(err error, named map[string]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
	h.every.wake()
	if named == nil {
		for l := range h.some {
			l.signal.wake()
		}
	}
	woken := make(map[*Listener]bool) // each once
	for principal := range named {
		for l := range h.named[principal] {
			if !woken[l] {
				woken[l] = true
				l.signal.wake()
			}
		}
	}
}
