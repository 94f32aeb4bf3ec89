package pebblekv

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/internal/txn"
)

// maxTransaction is the size in bytes of the largest transaction: what Pebble can take in one
// batch, with some room.
const maxTransaction = 1 << 30

// Store is the embedded kv.Store. Open returns one. All methods are safe for concurrent use.
type Store struct {
	opts  Options
	db    *pebble.DB
	lock  *pebble.Lock
	place *place
	// Lets operations in while the store is open; Close shuts it and waits for those inside.
	gate        *gate
	snapshots   snapshots
	committer   *committer
	space       *spaceGuard
	freed       freed
	compactions *compactions
	subspaces   *subspaces
	failure     *failure
	damaged     *damagedFiles
	watches     *txn.Watches
	// Of the hashes by which conflicts are found; another one for each opening.
	seed    maphash.Seed
	cache   *valueCache
	stats   stats
	updates beginnings
	closing chan struct{} // closed by Close
	tasks   sync.WaitGroup
	mark    vfs.File // open while commits are taken
	copied  bool     // the directory is a copy that nobody has committed to
	blocks  atomic.Pointer[pebble.Cache]

	// readOnly is set while the store is open for reading only; db and committer belong to
	// awaitSpace then. writing is closed when that ends.
	readOnly atomic.Bool
	writing  chan struct{}
}

var _ kv.Store = (*Store)(nil)

var transactions = sync.Pool{New: func() any { return txn.New(nil) }}

// View implements kv.Store.
func (s *Store) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !s.gate.enter() {
		return kv.ErrClosed
	}
	defer s.gate.leave()
	if err := s.place.noticed(); err != nil {
		return err
	}
	r := s.newReader(ctx, true)
	defer r.close()
	return fn(r.view)
}

// Update implements kv.Store. A ctx that ends before the commit is handed to the committer ends
// Update; after that the outcome, which is certain and soon, is waited for. When the engine itself
// fails under a commit (see failure), the error does not tell whether the commit will be there when
// the store is opened again; when the device refuses it for long, the error (kv.ErrUnavailable)
// does not tell whether it will be there when the device takes writes again.
func (s *Store) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	if !s.gate.enter() {
		return kv.Versionstamp{}, kv.ErrClosed
	}
	defer s.gate.leave()
	if err := s.place.noticed(); err != nil {
		return kv.Versionstamp{}, err
	}
	var p prospects
	for {
		if err := ctx.Err(); err != nil {
			return kv.Versionstamp{}, err
		}
		stamp, again, err := s.attempt(ctx, fn, &p)
		if !again {
			return stamp, err
		}
	}
}

// attempt runs fn once and commits what it wrote; again tells that a read did not hold.
func (s *Store) attempt(
	ctx context.Context,
	fn func(kv.Tx) error,
	p *prospects,
) (stamp kv.Versionstamp, again bool, err error) {
	var turn *turn
	if p.starving() {
		if turn, err = s.takeTurn(p.turn()); err != nil {
			return stamp, false, err
		}
		defer turn.end(nil)
	}
	began, readOnly := time.Now(), s.readOnly.Load()
	t := transactions.Get().(*txn.Tx)
	r := s.newReader(ctx, false)
	since := r.Version()
	s.updates.begin(since)
	defer s.updates.end(since) // not before it is checked
	q, err := s.prepare(ctx, t, r, fn)
	if q == nil {
		transactions.Put(t)
		return stamp, readOnly && errors.Is(err, kv.ErrTooOld), err
	}
	q.retried = p.runs > 0
	q.frees = kv.UsesReserve(ctx)
	took := time.Since(began)
	if turn == nil || !turn.end(q) {
		s.committer.queue.put(q)
	}
	o, answered := s.await(q)
	if answered {
		transactions.Put(t) // otherwise it may still be in the committer's hands
	}
	p.note(took, o.lost)
	if o.err != nil || o.conflict {
		return stamp, o.conflict, o.err
	}
	return q.stamp, false, nil
}

// takeTurn waits until all commits that were before it are complete and the committer does nothing
// more.
func (s *Store) takeTurn(length time.Duration) (*turn, error) {
	wish := &request{turn: newTurn(length), retried: true, done: make(chan outcome, 1)}
	s.committer.queue.put(wish)
	o, _ := s.await(wish)
	if o.err != nil {
		wish.turn.end(nil)
	}
	return wish.turn, o.err
}

// prepare runs fn and makes a request of what it wrote; nil if there is nothing to commit.
func (s *Store) prepare(ctx context.Context, t *txn.Tx, r *reader, fn func(kv.Tx) error) (*request, error) {
	since := r.Version()
	err := s.execute(t, r, fn)
	if err != nil || t.ReadOnly() {
		return nil, err
	}
	if err := s.writable(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return newRequest(t, since, s.seed)
}

// await waits for the committer's answer to q, or for the failure of the store, which leaves it
// open whether q was committed; so does a device that refuses it, if the committer has begun with
// it.
func (s *Store) await(q *request) (o outcome, answered bool) {
	var cause error
	select {
	case o = <-q.done:
		return o, true
	case <-s.failure.failed:
		cause = s.failure.err
	case <-*s.space.lapsed.now.Load():
		met := *s.space.met.Load()
		if q.claim() {
			return outcome{err: unwritten(met)}, false
		}
		cause = fmt.Errorf("%w: the device refuses a commit: %w", kv.ErrUnavailable, met)
	}
	select {
	case o = <-q.done: // the answer may have come meanwhile
		return o, true
	default:
		return outcome{err: cause}, false
	}
}

// execute runs fn on the snapshot of r, which is not needed for the commit.
func (s *Store) execute(t *txn.Tx, r *reader, fn func(kv.Tx) error) error {
	defer r.close()
	t.Reset(r)
	err := fn(t)
	if finishErr := t.Finish(); err == nil {
		err = finishErr
	}
	return err
}

// writable returns why a commit cannot be taken now, or nil.
func (s *Store) writable() error {
	if err := s.failure.get(); err != nil {
		return err
	}
	if s.readOnly.Load() {
		return errReadOnly
	}
	return s.space.refusal()
}

// Watch implements kv.Store.
func (s *Store) Watch(ctx context.Context, key, seen []byte) error {
	return s.watches.Wait(ctx, key, seen, func(key []byte) (value []byte, err error) {
		err = s.View(ctx, func(tx kv.ReadTx) error {
			value, err = tx.Get(key)
			value = cloneValue(value)
			return err
		})
		return value, err
	})
}

// Health implements kv.Store.
func (s *Store) Health(context.Context) error {
	if !s.gate.enter() {
		return kv.ErrClosed
	}
	defer s.gate.leave()
	if err := s.failure.get(); err != nil {
		return err
	}
	if s.readOnly.Load() {
		return errReadOnly
	}
	if err := s.space.check(); err != nil {
		return err
	}
	return s.committer.stalled(time.Now())
}

// Limits implements kv.Store. Only the age of a snapshot is limited, and it may become older while
// little is written; a transaction of more than a gibibyte is refused.
func (s *Store) Limits() kv.Limits {
	return kv.Limits{ReadTime: int(s.snapshots.readTime.Milliseconds())}
}

// Close implements kv.Store.
func (s *Store) Close() error {
	s.watches.Close()
	s.space.release()
	if !s.gate.close() {
		return kv.ErrClosed
	}
	close(s.closing)
	<-s.writing
	s.tasks.Wait()
	if s.committer != nil {
		s.committer.stop()
	}
	if err := s.failure.get(); err != nil && s.failure.stuck {
		return err // Pebble cannot be closed; the lock stays until the process ends, for its goroutines may still write
	}
	var err error
	if s.db != nil {
		last := s.snapshots.current.Load()
		last.replace(time.Now(), 0)
		err = s.db.Close()
		if s.mark != nil {
			err = errors.Join(err, s.mark.Close())
		}
	}
	if lockErr := s.lock.Close(); err == nil {
		err = lockErr
	}
	return translate(err)
}
