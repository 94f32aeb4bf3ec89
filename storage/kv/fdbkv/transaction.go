//go:build fdb

package fdbkv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/settee-db/settee/storage/kv"
)

// How long a call waits for a cluster that does not answer. Together they are less than 20 seconds, whenever it stops
// answering: a read waits for readTimeout, and the next snapshot for beginTimeout; or a commit for commitTimeout, and
// its marker for outcomeTimeout. A recovery of the cluster takes less, and a snapshot lives shorter.
const (
	beginTimeout   = 8 * time.Second
	readTimeout    = 10 * time.Second
	commitTimeout  = 10 * time.Second
	outcomeTimeout = 8 * time.Second
)

// transaction is a FoundationDB transaction that is cancelled when a context ends. The zero value of leave means that
// it follows no context now.
type transaction struct {
	fdb.Transaction
	store *Store
	born  time.Time // when FoundationDB began to count its time
	leave func() bool
	lost  bool // cancelled, perhaps still being cancelled: not to be used again
}

// take returns a transaction in its initial state. The caller releases it.
func (s *Store) take() (*transaction, error) {
	if tr, ok := s.transactions.Get().(*transaction); ok {
		return tr, nil
	}
	tr, err := s.db.CreateTransaction()
	if err != nil {
		return nil, contractError(context.Background(), err)
	}
	return &transaction{Transaction: tr, store: s, born: time.Now()}, nil
}

// release ends the transaction and keeps it for others: the binding frees one only when the garbage collector finds it.
func (t *transaction) release() {
	t.unfollow()
	if !t.lost {
		t.reset()
		t.store.transactions.Put(t)
	}
}

func (t *transaction) reset() {
	t.Reset()
	t.born = time.Now()
}

// follow makes ctx cancel the transaction when it ends.
func (t *transaction) follow(ctx context.Context) { t.leave = context.AfterFunc(ctx, t.Cancel) }

// unfollow ends follow; false when the transaction is lost.
func (t *transaction) unfollow() bool {
	if t.leave != nil {
		t.lost = !t.leave()
		t.leave = nil
	}
	return !t.lost
}

// begin takes the snapshot. It fails with an error of FoundationDB.
func (t *transaction) begin(ctx context.Context) (*snapshot, error) {
	if err := errors.Join(t.Options().SetReadYourWritesDisable(), t.timeout(beginTimeout)); err != nil {
		return nil, err
	}
	version, err := t.GetReadVersion().Get()
	if codeOf(err) == codeTimedOut {
		t.reset()
		return nil, fmt.Errorf("%w: %w", kv.ErrUnavailable, err)
	}
	if err == nil {
		err = t.timeout(readTimeout)
	}
	if err != nil {
		return nil, err
	}
	return &snapshot{tr: t.Transaction, ctx: ctx, space: t.store.space, version: uint64(version)}, nil
}

// timeout has the transaction end when so much time from now on has passed.
func (t *transaction) timeout(left time.Duration) error {
	return t.Options().SetTimeout((time.Since(t.born) + left).Milliseconds())
}

// retry prepares the transaction for another attempt after it failed with err, an error of FoundationDB, and waits as
// long as FoundationDB finds right. It returns the contract's error when there shall be no other attempt.
func (t *transaction) retry(ctx context.Context, err error) error {
	var failed fdb.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, kv.ErrUnavailable), !errors.As(err, &failed):
		return err
	case failed.Code == codeTimedOut: // for FoundationDB the end, but only the time for reading was limited
		t.reset()
		return nil
	case t.OnError(failed).Get() != nil:
		return contractError(ctx, err)
	}
	return ctx.Err()
}
