package cache

import "sync"

// loads are the values that are being made. What a value takes while it is made is often many times
// what is kept of it, so that of those who ask for one together only one makes it. The zero value
// is ready for use.
type loads[K comparable, V any] struct {
	mu    sync.Mutex
	going map[K]*loading[V]
}

// loading is a value that is being made.
type loading[V any] struct {
	done  chan struct{} // closed at the end
	value V             // if it was made
	made  bool
}

// do gives what load makes, or what the load of the same key makes that is going on. A load may
// fail for reasons of its own request, so nobody gets the error of another one; and nobody waits
// for a second one, so that a store that does not answer keeps nobody for longer than twice.
func (l *loads[K, V]) do(key K, load func() (V, error)) (value V, err error) {
	l.mu.Lock()
	if other := l.going[key]; other != nil {
		l.mu.Unlock()
		if <-other.done; other.made {
			return other.value, nil
		}
		return load()
	}
	if l.going == nil {
		l.going = make(map[K]*loading[V])
	}
	own := &loading[V]{done: make(chan struct{})}
	l.going[key] = own
	l.mu.Unlock()
	defer func() { // also when load panics
		l.mu.Lock()
		delete(l.going, key)
		l.mu.Unlock()
		close(own.done)
	}()
	value, err = load()
	own.value, own.made = value, err == nil
	return value, err
}
