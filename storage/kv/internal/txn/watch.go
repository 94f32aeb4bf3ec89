package txn

import (
	"bytes"
	"context"
	"sync"

	"github.com/tidwall/btree"

	"github.com/settee-db/settee/storage/kv"
)

// Watches is the registry of the watches of an embedded engine. It wakes a watch when a commit
// wrote its key; nothing runs while nothing is written. The zero value is not usable; all methods
// are safe for concurrent use.
type Watches struct {
	mu     sync.Mutex
	keys   *btree.BTreeG[*watched]
	closed chan struct{}
	once   sync.Once
}

// watched is a key with at least one watch.
type watched struct {
	key     []byte
	waiting int           // watches that hold it
	changed chan struct{} // closed by the next commit that writes the key
}

// NewWatches returns an empty registry.
func NewWatches() *Watches {
	less := func(a, b *watched) bool { return bytes.Compare(a.key, b.key) < 0 }
	return &Watches{keys: btree.NewBTreeGOptions(less, btree.Options{NoLocks: true}), closed: make(chan struct{})}
}

// Wait is kv.Store.Watch for an engine whose get reads the newest committed value of a key.
func (w *Watches) Wait(ctx context.Context, key, seen []byte, get func(key []byte) ([]byte, error)) error {
	for {
		// Registered before the value is read, so that no change between the two is missed.
		entry, changed := w.enter(key)
		value, err := get(key)
		if err == nil && same(value, seen) {
			select {
			case <-changed:
			case <-ctx.Done():
				err = ctx.Err()
			case <-w.closed:
				err = kv.ErrClosed
			}
			w.leave(entry)
			if err != nil {
				return err
			}
			continue
		}
		w.leave(entry)
		return err
	}
}

// same compares two values, of which nil means absent.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// enter counts a waiter for a key and gives the channel that is closed at its next change.
func (w *Watches) enter(key []byte) (*watched, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	entry, ok := w.keys.Get(&watched{key: key})
	if !ok {
		entry = &watched{key: bytes.Clone(key), changed: make(chan struct{})}
		w.keys.Set(entry)
	}
	entry.waiting++
	return entry, entry.changed
}

func (w *Watches) leave(entry *watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if entry.waiting--; entry.waiting == 0 {
		w.keys.Delete(entry)
	}
}

// Notify wakes the watches of keys in r. The engine calls it when the commit that wrote them is
// durable and visible.
func (w *Watches) Notify(r KeyRange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys.Len() == 0 {
		return
	}
	w.keys.Ascend(&watched{key: r.Begin}, func(entry *watched) bool {
		if !r.Contains(entry.key) {
			return false
		}
		close(entry.changed)
		entry.changed = make(chan struct{})
		return true
	})
}

// Empty tells that no key is watched, so that nobody needs Notify now.
func (w *Watches) Empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.keys.Len() == 0
}

// Close ends all watches, also later ones that would have to wait, with kv.ErrClosed.
func (w *Watches) Close() { w.once.Do(func() { close(w.closed) }) }
