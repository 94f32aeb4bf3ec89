package wrapkv

import (
	"slices"
	"sync"

	"github.com/settee-db/settee/storage/kv"
)

// Foresight lets reads of one kind, which begin with the same keys one after the other each time, read these together:
// it remembers which keys they were the last time. What is read does not depend on what it remembers, only when. It is
// for snapshots of View on engines across a network, and safe for concurrent use.
type Foresight struct {
	mu    sync.Mutex
	kinds map[string][]string
}

const (
	// foreseen is how many keys of a kind are remembered, foreseenKinds of how many kinds.
	foreseen      = 8
	foreseenKinds = 4096
)

// View runs fn with tx, whose first keys are read together if they were read before by a function of the kind.
func (f *Foresight) View(kind string, tx kv.ReadTx, fn func(kv.ReadTx) error) error {
	f.mu.Lock()
	hints := f.kinds[kind]
	f.mu.Unlock()
	r := &foreseeing{ReadTx: tx, hints: hints}
	err := fn(r)
	if err != nil || !r.missed {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kinds == nil || len(f.kinds) >= foreseenKinds {
		f.kinds = make(map[string][]string)
	}
	f.kinds[kind] = r.read
	return nil
}

// foreseeing is a reader that knows which keys it may be asked for.
type foreseeing struct {
	kv.ReadTx
	hints  []string
	known  map[string][]byte // their values, once one of them was asked for
	read   []string          // the first keys that were asked for
	missed bool              // some of them were no hints
}

// Get implements kv.ReadTx.
func (r *foreseeing) Get(key []byte) ([]byte, error) {
	values, err := r.GetMany([][]byte{key})
	if err != nil {
		return nil, err
	}
	return values[0], nil
}

// GetMany implements kv.ReadTx.
func (r *foreseeing) GetMany(keys [][]byte) ([][]byte, error) {
	if len(keys) > foreseen { // a list, which is not what reads of a kind have in common
		return r.ReadTx.GetMany(keys)
	}
	foreknown := true
	for _, key := range keys {
		if len(r.read) < foreseen && !slices.Contains(r.read, string(key)) {
			r.read = append(r.read, string(key))
		}
		foreknown = foreknown && slices.Contains(r.hints, string(key))
	}
	if !foreknown {
		r.missed = true
		return r.ReadTx.GetMany(keys)
	}
	if r.known == nil {
		all := make([][]byte, len(r.hints))
		for i, key := range r.hints {
			all[i] = []byte(key)
		}
		values, err := r.ReadTx.GetMany(all)
		if err != nil {
			return nil, err
		}
		r.known = make(map[string][]byte, len(all))
		for i, key := range r.hints {
			r.known[key] = values[i]
		}
	}
	values := make([][]byte, len(keys))
	for i, key := range keys {
		values[i] = r.known[string(key)]
	}
	return values, nil
}

// Snapshot implements kv.ReadTx: a snapshot of View gives itself.
func (r *foreseeing) Snapshot() kv.ReadTx { return r }
