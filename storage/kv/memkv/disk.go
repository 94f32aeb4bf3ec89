package memkv

import (
	"sync"
	"sync/atomic"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/internal/txn"
)

// Disk is what survives when a store is closed, so that tests can model a restart: close the store
// and open the disk again.
type Disk struct {
	inUse   sync.Mutex
	current atomic.Pointer[state]
}

// NewDisk returns an empty disk.
func NewDisk() *Disk {
	d := &Disk{}
	d.current.Store(newState())
	return d
}

// Copy returns another disk with what is on this one now. It costs nothing, however much that is,
// so that tests can begin with the same data each. No store may write to d meanwhile.
func (d *Disk) Copy() *Disk {
	last := d.current.Load()
	c := &Disk{}
	c.current.Store(&state{version: last.version, rows: last.rows.Copy()})
	return c
}

// Open returns the store on the disk; kv.ErrLocked when one is open already.
func (d *Disk) Open() (*Store, error) {
	if !d.inUse.TryLock() {
		return nil, kv.ErrLocked
	}
	s := &Store{disk: d, watches: txn.NewWatches(), reading: map[uint64]int{}}
	s.idle.L = &s.mu
	return s, nil
}

// New returns an empty store.
func New() *Store {
	s, _ := NewDisk().Open() // a new disk is not locked
	return s
}
