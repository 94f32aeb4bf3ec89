//go:build fdb

package fdbkv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/internal/txn"
)

// apiVersion is that of FoundationDB 7.3.
const apiVersion = 730

// maxWatches is the most that FoundationDB allows one client.
const maxWatches = 1_000_000

// DefaultPrefix is the prefix of stores that name none.
const DefaultPrefix = "settee"

// maxPrefix leaves keys nearly all of their length.
const maxPrefix = 256

// Options say where in which cluster the store is.
type Options struct {
	// ClusterFile is the path of the cluster file; if empty, FDB_CLUSTER_FILE names it, or it is at
	// the client's default.
	ClusterFile string

	// Prefix begins all keys of the store; empty: DefaultPrefix. Several stores can share a
	// cluster: then no prefix may be the beginning of another one.
	Prefix string
}

// Store is a kv.Store on a FoundationDB cluster. Any number of processes may open the same prefix.
type Store struct {
	db fdb.Database
	// The prefix of all keys of this store in the cluster.
	space        space
	markers      *markers
	watches      *watches
	transactions sync.Pool                   // of *transaction
	overlays     sync.Pool                   // of *txn.Tx
	send         func(fdb.Transaction) error // commits; tests replace it to lose outcomes

	// Guards closed; running counts transactions, which Close waits for.
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

var _ kv.Store = (*Store)(nil)

// opening guards the binding's table of open databases.
var opening sync.Mutex

// Open connects to the cluster; it fails when the cluster does not answer.
func Open(options Options) (*Store, error) {
	if options.Prefix == "" {
		options.Prefix = DefaultPrefix
	}
	if options.Prefix[0] == reserved || len(options.Prefix) > maxPrefix {
		return nil, fmt.Errorf("fdbkv: prefix %q: must not begin with \\xff nor be longer than %d bytes",
			options.Prefix, maxPrefix)
	}
	db, err := openDatabase(options.ClusterFile)
	if err != nil {
		return nil, fmt.Errorf("fdbkv: cluster file %q: %w", options.ClusterFile, err)
	}
	s := &Store{db: db, space: space{[]byte(options.Prefix)}, send: commit}
	s.markers = newMarkers(db, s.space)
	s.watches = newWatches(db)
	if err := s.markers.sweep(); err != nil {
		return nil, fmt.Errorf("fdbkv: the cluster does not answer: %w", err)
	}
	return s, nil
}

// openDatabase starts the client's network once per process, and returns the process's one handle
// for the cluster.
func openDatabase(clusterFile string) (fdb.Database, error) {
	opening.Lock()
	defer opening.Unlock()
	if clusterFile != "" {
		if _, err := os.Stat(clusterFile); err != nil {
			return fdb.Database{}, err
		}
	}
	if err := fdb.APIVersion(apiVersion); err != nil {
		return fdb.Database{}, err
	}
	db, err := fdb.OpenDatabase(clusterFile)
	if err != nil {
		return db, err
	}
	return db, db.Options().SetMaxWatches(maxWatches)
}

func commit(tr fdb.Transaction) error { return tr.Commit().Get() }

// enter registers a running call.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return kv.ErrClosed
	}
	s.running.Add(1)
	return nil
}

// View implements kv.Store.
func (s *Store) View(ctx context.Context, fn func(kv.ReadTx) error) (err error) {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.running.Done()
	t, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer func() { t.end(ctx, err) }()
	t.follow(ctx)
	for {
		snap, err := t.begin(ctx)
		if err == nil {
			return fn(reads{txn.ReadOnly{Snap: snap}, snap})
		}
		if errors.Is(err, kv.ErrUnavailable) {
			return err
		}
		if err = t.retry(ctx, err); err != nil {
			return err
		}
	}
}

// Watch implements kv.Store.
func (s *Store) Watch(ctx context.Context, key, seen []byte) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	s.running.Done() // Close ends watches, it does not wait for them
	return s.watches.wait(ctx, s.space.key(key), seen)
}

// Health implements kv.Store. A read version is given only by a cluster that can commit; the key is
// some storage server's.
func (s *Store) Health(ctx context.Context) error {
	return s.View(ctx, func(tx kv.ReadTx) error {
		_, err := tx.Get(nil)
		return err
	})
}

// Limits implements kv.Store.
func (s *Store) Limits() kv.Limits {
	limits := kv.FDBLimits
	limits.KeySize -= len(s.space.prefix)
	return limits
}

// Close implements kv.Store. The process's connection to the cluster stays, for stores that are
// open or will be.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return kv.ErrClosed
	}
	s.closed = true
	s.mu.Unlock()
	s.watches.close()
	s.running.Wait()
	_ = s.markers.close() // markers that stay are swept one day
	return nil
}
