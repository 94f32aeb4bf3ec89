//go:build fdb

package fdbkv

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/settee-db/settee/storage/kv"
)

// watchPause is how long a failed watch waits before it begins again.
const watchPause = 200 * time.Millisecond

// watches holds all watches of a store. Each watched key has one watch in FoundationDB and one
// goroutine that renews it.
type watches struct {
	db fdb.Database

	mu sync.Mutex
	// One watch in the cluster for each key, however many wait for it.
	keys   map[string]*watched
	closed chan struct{}
}

// watched is a key with somebody who waits for it. All fields are under watches.mu.
type watched struct {
	waiting int
	begun   int           // reads of the value that have begun
	read    int           // the read that found value; 0: none yet
	value   []byte        // nil: absent
	armed   fdb.FutureNil // FoundationDB's watch for a change of value; nil while the value is read
	err     error         // what ended it
	changed chan struct{} // closed and replaced when a read or err has come
}

func newWatches(db fdb.Database) *watches {
	return &watches{db: db, keys: map[string]*watched{}, closed: make(chan struct{})}
}

// wait is kv.Store.Watch for the cluster's key.
func (w *watches) wait(ctx context.Context, key fdb.Key, seen []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	entry := w.join(key)
	defer w.leave(entry)
	joined := entry.begun
	for {
		same := entry.read > 0 && (entry.value == nil) == (seen == nil) && bytes.Equal(entry.value, seen)
		switch {
		case entry.err != nil:
			return entry.err
		case same: // and armed, or being read: changes from here on will be noticed
		case entry.read > joined: // read since we asked
			return nil
		case entry.armed != nil: // of a value from before we asked: it may have changed to seen, and back unnoticed
			entry.armed.Cancel()
		}
		changed := entry.changed
		w.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-ctx.Done():
			err = ctx.Err()
		case <-w.closed:
			err = kv.ErrClosed
		}
		w.mu.Lock()
		if err != nil {
			return err
		}
	}
}

// join counts one more who waits for a key, and begins to follow the key for the first one. The
// lock is held.
func (w *watches) join(key fdb.Key) *watched {
	entry := w.keys[string(key)]
	if entry == nil {
		entry = &watched{changed: make(chan struct{})}
		w.keys[string(key)] = entry
		go w.follow(key, entry)
	}
	entry.waiting++
	return entry
}

// leave counts one fewer who waits, and ends the watch after the last one. The lock is held.
func (w *watches) leave(entry *watched) {
	if entry.waiting--; entry.waiting == 0 && entry.armed != nil {
		entry.armed.Cancel()
	}
}

// follow keeps the entry's watch alive as long as somebody waits.
func (w *watches) follow(key fdb.Key, entry *watched) {
	for w.begin(key, entry) {
		value, armed, err := w.arm(key)
		if err != nil {
			w.end(key, entry, err)
			return
		}
		w.publish(entry, value, armed)
		err = armed.Get()
		w.mu.Lock()
		entry.armed = nil
		w.mu.Unlock()
		if err != nil && codeOf(err) != codeOperationCanceled {
			w.pause()
		}
	}
}

// begin registers a new read of the key; false when nobody waits any more: then the entry is gone.
func (w *watches) begin(key fdb.Key, entry *watched) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if entry.waiting == 0 {
		delete(w.keys, string(key))
		return false
	}
	entry.begun++
	return true
}

// arm reads the value and begins to watch for a change of it.
func (w *watches) arm(key fdb.Key) (value []byte, armed fdb.FutureNil, err error) {
	_, err = w.db.Transact(func(tr fdb.Transaction) (any, error) {
		var err error
		if value, err = tr.Get(key).Get(); err != nil {
			return nil, err
		}
		armed = tr.Watch(key)
		return nil, nil
	})
	return value, armed, err
}

// publish stores the value that was read and wakes those who wait.
func (w *watches) publish(entry *watched, value []byte, armed fdb.FutureNil) {
	w.mu.Lock()
	defer w.mu.Unlock()
	entry.value, entry.read, entry.armed = value, entry.begun, armed
	entry.wake()
	if entry.waiting == 0 {
		armed.Cancel()
	}
}

// end ends the watches of the key with err.
func (w *watches) end(key fdb.Key, entry *watched, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	entry.err = contractError(context.Background(), err)
	delete(w.keys, string(key))
	entry.wake()
}

// wake lets all who wait look again. The lock is held.
func (e *watched) wake() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// pause waits a little after an error, and no longer than the store is open.
func (w *watches) pause() {
	select {
	case <-time.After(watchPause):
	case <-w.closed:
	}
}

// close ends all watches with kv.ErrClosed.
func (w *watches) close() { close(w.closed) }
