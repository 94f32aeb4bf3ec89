package wrapkv

import (
	"bytes"
	"errors"
	"sync"

	"github.com/settee-db/settee/storage/kv"
)

// Recall remembers values of single keys, for engines across a network: a transaction begins with what a key held the
// last time while it is read, so that reads which depend on it are under way beside it. Before anything is given to
// anybody, and before the transaction commits, it must be confirmed. It is safe for concurrent use.
type Recall struct {
	mu     sync.Mutex
	values map[string][]byte
}

// ErrRecall tells that a key does not hold what was remembered. All that was read since is void, and has to be read
// again in another transaction.
var ErrRecall = errors.New("wrapkv: a key does not hold what was remembered")

// recalledKeys is how many keys are remembered.
const recalledKeys = 4096

// Recalled is a value that is not confirmed yet; nil is one that was read.
type Recalled struct {
	of         *Recall
	key, value []byte
	it         kv.Iterator
	done       bool
	err        error
}

// Get gives the value of a key, nil if there is none, as it was the last time or as it is. It belongs to the Recall.
func (r *Recall) Get(tx kv.ReadTx, key []byte) (value []byte, unconfirmed *Recalled, err error) {
	r.mu.Lock()
	value = r.values[string(key)]
	r.mu.Unlock()
	if value != nil {
		it := tx.Range(key, kv.AppendKeyAfter(nil, key), kv.RangeOptions{Limit: 1})
		return value, &Recalled{of: r, key: key, value: value, it: it}, nil
	}
	if value, err = tx.Get(key); err != nil || value == nil {
		return nil, nil, err
	}
	value = bytes.Clone(value)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.values == nil || len(r.values) >= recalledKeys {
		r.values = make(map[string][]byte)
	}
	r.values[string(key)] = value
	return value, nil, nil
}

// Confirm waits for the key; ErrRecall if it does not hold the value, which is forgotten then. It may be called again.
func (c *Recalled) Confirm() error {
	if c == nil || c.done {
		return c.failure()
	}
	c.done = true
	same := c.it.Next() && bytes.Equal(c.it.Value(), c.value)
	if c.err = c.it.Close(); same || c.err != nil {
		return c.err
	}
	c.err = ErrRecall
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if bytes.Equal(c.of.values[string(c.key)], c.value) {
		delete(c.of.values, string(c.key))
	}
	return c.err
}

func (c *Recalled) failure() error {
	if c == nil {
		return nil
	}
	return c.err
}
