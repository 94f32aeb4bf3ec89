package storage

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"github.com/settee-db/settee/cluster/format"
	"github.com/settee-db/settee/storage/counts"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/storage/room"
)

// Options configure Open.
type Options struct {
	// KV is the store underneath. The Store does not close it.
	KV kv.Store
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Program is what formats this program knows; zero: format.This. Tests say another.
	Program format.Program
	// Compaction says when databases are compacted without being asked.
	Compaction CompactionPolicy
	// Manual leaves out all periodic tasks: automatic compaction, collection of attachments,
	// _db_updates.
	Manual bool
}

// Store is a set of databases in one key-value store. It is safe for concurrent use; several
// Stores, in several processes, may share a kv.Store that allows it.
type Store struct {
	kv         kv.Store
	now        func() time.Time
	hooks      Hooks
	limits     kv.Limits
	uuid       [16]byte
	compaction CompactionPolicy
	bg         background
	metrics    metrics
	securities *securities
	sizes      counts.Sizes
	edits      *editBatchers // nil: none share
	opens      *openBatchers // nil: none share
}

// Open prepares the store: it writes the format and an identity on first use. The error is
// kv.ErrFormat if another version wrote the store.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{
		kv: wrapkv.Prefetching(o.KV), now: o.Now, limits: o.KV.Limits(), compaction: o.Compaction,
		metrics: newMetrics(), securities: newSecurities(),
		sizes: counts.DefaultSizes(),
	}
	s.sizes.Together = s.limits.Together
	s.edits = newEditBatchers(s.limits.Together)
	if s.limits.Together > 1 {
		s.opens = newOpenBatchers()
	}
	if s.now == nil {
		s.now = time.Now
	}
	head, err := format.Open(ctx, o.KV, keyspace.HeadKey(), cmp.Or(o.Program, format.This))
	if err != nil {
		return nil, err
	}
	s.uuid = head.UUID
	s.bg.start(s, o.Manual)
	return s, nil
}

// Close ends the background tasks, after the last events of _db_updates were written, and all
// listeners. It does not close the kv.Store.
func (s *Store) Close() error {
	s.bg.stop()
	return nil
}

// Health tells why the store could not serve reads and writes now, nil if it could; see kv.Store.
func (s *Store) Health(ctx context.Context) error { return s.kv.Health(ctx) }

// Damaged names files of the store in which something could not be read since it was opened, where
// the engine knows.
func (s *Store) Damaged() []string {
	if engine, ok := s.kv.(interface{ Damaged() []string }); ok {
		return engine.Damaged()
	}
	return nil
}

// SetHooks connects higher layers. It must be called before the first write.
func (s *Store) SetHooks(h Hooks) { s.hooks = h }

// room is the memory of one request, nil for no bound.
func (s *Store) room(ctx context.Context) room.Share {
	if s.hooks.Room == nil {
		return nil
	}
	return s.hooks.Room(ctx)
}

// UUID is the identity of the store, made when it was first opened.
func (s *Store) UUID() [16]byte { return s.uuid }

// DB gives a handle on a database, whether it exists or not.
func (s *Store) DB(name string) *DB { return &DB{store: s, name: name} }

// newUUID makes a random identity.
func newUUID() (u [16]byte) {
	rand.Read(u[:]) // never fails
	return u
}
