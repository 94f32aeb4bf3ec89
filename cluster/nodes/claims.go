package nodes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Claims are names that one process at a time has: whoever is first, until it gives the name back or is gone. Where the
// store has one process nothing is written. It is safe for concurrent use.
type Claims struct {
	kv      kv.Store
	prefix  []byte
	members *Members
}

// NewClaims makes the claims below a prefix.
func NewClaims(store kv.Store, prefix []byte, members *Members) *Claims {
	return &Claims{store, prefix, members}
}

// Holder is the process that has a name, and whether there is one that is not gone.
func (c *Claims) Holder(ctx context.Context, name string) (holder ID, held bool, err error) {
	if c.members.alone() {
		return holder, false, nil
	}
	err = c.kv.View(ctx, func(tx kv.ReadTx) error {
		holder, _, held, err = c.read(tx, name)
		return err
	})
	return holder, held, err
}

// Take waits until the name is this process's, which may have it already.
func (c *Claims) Take(ctx context.Context, name string) error {
	for !c.members.alone() {
		_, changed, err := c.members.Live(ctx)
		if err != nil {
			return err
		}
		var seen []byte
		var held bool
		_, err = c.kv.Update(ctx, func(tx kv.Tx) error {
			var holder ID
			if holder, seen, held, err = c.read(tx, name); err != nil {
				return err
			}
			if held = held && holder != c.members.self; !held {
				tx.Set(c.key(name), c.members.self[:])
			}
			return nil
		})
		if err != nil || !held {
			return err
		}
		if err := c.await(ctx, name, seen, changed); err != nil {
			return err
		}
	}
	return nil
}

// await returns when the name is another one's, or other processes are there.
func (c *Claims) await(ctx context.Context, name string, seen []byte, changed <-chan struct{}) error {
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-changed:
			stop()
		case <-waiting.Done():
		}
	}()
	err := c.kv.Watch(waiting, c.key(name), seen)
	if waiting.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Give gives a name back, unless it is another process's.
func (c *Claims) Give(ctx context.Context, name string) error {
	if c.members.alone() {
		return nil
	}
	_, err := c.kv.Update(kv.UseReserve(ctx), func(tx kv.Tx) error {
		return clearIf(tx, c.key(name), c.members.self[:])
	})
	return err
}

// read reads who has a name; it is not held where that process is gone.
func (c *Claims) read(tx kv.ReadTx, name string) (holder ID, value []byte, held bool, err error) {
	value, err = tx.Get(c.key(name))
	if err != nil || value == nil {
		return holder, nil, false, err
	}
	value = bytes.Clone(value)
	if holder, err = parseClaim(value); err != nil {
		return holder, nil, false, err
	}
	for _, m := range c.members.Known() {
		if m.ID == holder {
			return holder, value, true, nil
		}
	}
	gone, err := c.members.Gone(tx, holder)
	return holder, value, !gone, err
}

func (c *Claims) key(name string) []byte { return tuple.AppendString(bytes.Clone(c.prefix), name) }

func parseClaim(value []byte) (ID, error) {
	if len(value) != len(ID{}) {
		return ID{}, fmt.Errorf("nodes: malformed claim %q: %w", value, kv.ErrCorrupt)
	}
	return ID(value), nil
}

// CheckClaims reads the claims below a prefix and returns what is malformed.
func CheckClaims(ctx context.Context, store kv.Store, prefix []byte) (violations []string, err error) {
	end := append(prefix[:len(prefix):len(prefix)], 0xff)
	err = kv.Walk(ctx, store, prefix, end, checkWindow, func(_ kv.ReadTx, window []kv.Row) error {
		for _, row := range window {
			_, rest, err := tuple.ReadString(row.Key[len(prefix):])
			if err == nil && len(rest) > 0 {
				err = kv.ErrCorrupt
			}
			if err == nil {
				_, err = parseClaim(row.Value)
			}
			if err != nil {
				violations = append(violations, fmt.Sprintf("nodes: invariant 6: claim %q: %v", row.Key, err))
			}
		}
		return nil
	})
	return violations, err
}

// Share is the process of a list, which is not empty, that something falls to by its name. All who see the same
// processes come to the same one, and when one comes or goes only what falls to it moves (rendezvous hashing).
func Share(name string, live []Member) ID {
	var best ID
	var most [sha256.Size]byte
	for i := range live {
		if weight := weigh(live[i].ID, name); i == 0 || bytes.Compare(weight[:], most[:]) > 0 {
			best, most = live[i].ID, weight
		}
	}
	return best
}

func weigh(id ID, name string) [sha256.Size]byte { return sha256.Sum256(append(id[:], name...)) }
