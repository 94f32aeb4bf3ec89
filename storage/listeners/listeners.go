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

// Read tells which database has the name that it was made for, by its UUID, and the key that every
// update of that database sets, with the value of it.
type Read func(ctx context.Context) (uuid [16]byte, key, value []byte, err error)

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

	mu      sync.Mutex
	updates uint64        // how often listeners were woken
	changed chan struct{} // closed at the next update, then replaced
	err     error         // set when the hub has ended
}

// Listener tells of the updates of one database. Its methods are not for concurrent use, but Close
// may be called at any time.
type Listener struct {
	hub   *hub
	seen  uint64 // updates of the hub that Wait has reported, and those before Listen
	close sync.Once
}

// closedChan is what C returns when Wait would not wait.
var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Listen registers for the updates of the database of a name, which read reads. Updates committed
// after it returned are reported by the listener, so listen first and read then. The error is
// compat.ErrNoDatabase if there is none. The caller closes the listener.
func (ls *Listeners) Listen(ctx context.Context, name string, read Read) (*Listener, error) {
	for {
		l := &Listener{hub: ls.join(name, read)}
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
	h.mu.Lock()
	l.seen = h.updates
	err := h.err
	h.mu.Unlock()
	if err != nil && !errors.Is(err, compat.KindNoDatabase) {
		return err
	}
	now, _, _, readErr := h.read(ctx)
	if readErr != nil {
		return readErr
	}
	if err != nil || now != h.uuid {
		h.all.leave(h)
		return errStaleHub
	}
	return nil
}

// join registers one more listener at the database's hub, which is begun if there is none.
func (ls *Listeners) join(name string, read Read) *hub {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	h := ls.hubs[name]
	if h == nil {
		ctx, stop := context.WithCancel(ls.ctx)
		h = &hub{
			all: ls, name: name, read: read, stop: stop, ready: make(chan struct{}), changed: make(chan struct{}),
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
	if h.err != nil || h.updates != l.seen {
		return closedChan
	}
	return h.changed
}

// look takes an update that was not reported yet.
func (l *Listener) look() (pending bool, changed <-chan struct{}, err error) {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return false, nil, h.err
	}
	pending = h.updates != l.seen
	l.seen = h.updates
	return pending, h.changed, nil
}

// watch wakes the listeners at every update until ctx ends or the database is gone.
func (h *hub) watch(ctx context.Context) error {
	uuid, key, seen, err := h.readPatiently(ctx)
	if err != nil {
		return err
	}
	h.uuid = uuid
	close(h.ready)
	for {
		if err := h.all.kv.Watch(ctx, key, seen); err != nil {
			return err
		}
		now, _, value, err := h.readPatiently(ctx)
		if err != nil {
			return err
		}
		if now != uuid {
			return compat.ErrNoDatabase
		}
		if bytes.Equal(value, seen) { // a write that changed nothing, or a watch that ended early
			continue
		}
		seen = value
		h.wake(nil)
	}
}

// awayPause is how long a hub waits that has found the store not answering.
const awayPause = time.Second

// readPatiently is read, however long the store does not answer: whoever listens goes on when it
// does.
func (h *hub) readPatiently(ctx context.Context) (uuid [16]byte, key, value []byte, err error) {
	for {
		uuid, key, value, err = h.read(ctx)
		if !errors.Is(err, kv.ErrUnavailable) && !errors.Is(err, kv.ErrTooOld) {
			return uuid, key, value, err
		}
		select {
		case <-time.After(awayPause):
		case <-ctx.Done():
			return uuid, key, value, ctx.Err()
		}
	}
}

// end marks the hub as ended with err and wakes all listeners, who see the error.
func (h *hub) end(err error) {
	h.stop()
	if h.all.ctx.Err() != nil {
		err = kv.ErrClosed
	}
	h.wake(err)
	select {
	case <-h.ready:
	default:
		close(h.ready)
	}
}

// wake lets everybody who waits go on: the channel that they wait for is closed and replaced. err
// ends the hub.
func (h *hub) wake(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
	h.updates++
	close(h.changed)
	h.changed = make(chan struct{})
}
