//go:build fdb

package fdbkv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/settee-db/settee/storage/kv"
)

// How long a call waits at most for a cluster that does not answer, or hardly (ADR 0043). A
// recovery of the cluster takes less, and a snapshot lives five seconds.
const (
	beginTimeout   = 8 * time.Second
	readTimeout    = 6 * time.Second
	commitTimeout  = 10 * time.Second
	outcomeTimeout = 8 * time.Second

	// waitBound is for all waits of one call together. When it is used up, each further wait gets
	// leastTimeout. reserve is the part of it that the wait for a snapshot or a commit leaves to
	// what comes after.
	waitBound    = 18 * time.Second
	reserve      = 4 * time.Second
	leastTimeout = 2 * time.Second

	// patience is how long after its begin a call still repeats an attempt that failed because the
	// servers did not answer.
	patience = 8 * time.Second

	// backgroundTimeout is beginTimeout of transactions in the background, which a cluster that is
	// busy lets wait.
	backgroundTimeout = time.Minute
)

// transaction is a FoundationDB transaction that is cancelled when a context ends. The zero value
// of leave means that it follows no context now.
type transaction struct {
	fdb.Transaction
	store *Store
	born  time.Time // when FoundationDB began to count its time
	since time.Time // when the call began, or had the last sign that the cluster works
	late  bool      // a wait of the call was longer than kv.Prompt
	// Ends the watch over the context; false if it has run already.
	leave func() bool
	lost  bool // cancelled, perhaps still being cancelled: not to be used again
}

// take returns a transaction in its initial state, of a call that begins with ctx. The caller
// releases it.
func (s *Store) take(ctx context.Context) (*transaction, error) {
	now := time.Now()
	since := kv.WaitsSince(ctx, now)
	if t, ok := s.transactions.Get().(*transaction); ok {
		t.since, t.late = since, false
		return t, nil
	}
	tr, err := s.db.CreateTransaction()
	if err != nil {
		return nil, contractError(context.Background(), err)
	}
	return &transaction{Transaction: tr, store: s, born: now, since: since}, nil
}

// end releases the transaction of a call that fails with err or succeeds, and tells the request how
// it waited.
func (t *transaction) end(ctx context.Context, err error) {
	kv.Waited(ctx, t.since, !t.late && !errors.Is(err, kv.ErrUnavailable))
	t.release()
}

// release ends the transaction and keeps it for others: the binding frees one only when the garbage
// collector finds it.
func (t *transaction) release() {
	t.unfollow()
	if !t.lost {
		t.reset()
		t.store.transactions.Put(t)
	}
}

// reset begins the transaction anew, and FoundationDB's five seconds with it.
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
	wait := t.left(beginTimeout, reserve)
	if kv.IsInBackground(ctx) {
		wait = backgroundTimeout
		if err := t.Options().SetPriorityBatch(); err != nil {
			return nil, err
		}
	}
	if tenant := kv.Tag(ctx); tenant != "" {
		if err := t.Options().SetAutoThrottleTag(throttlingTag(tenant)); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(t.Options().SetReadYourWritesDisable(), t.timeout(wait)); err != nil {
		return nil, err
	}
	began := time.Now()
	version, err := t.GetReadVersion().Get()
	t.waited(began)
	if codeOf(err) == codeTimedOut {
		t.reset()
		return nil, fmt.Errorf("%w: %w", kv.ErrUnavailable, err)
	}
	if kv.IsInBackground(ctx) {
		t.since = time.Now()
	}
	if err == nil {
		err = t.timeout(t.left(readTimeout, 0))
	}
	if err != nil {
		return nil, err
	}
	return &snapshot{tr: t.Transaction, ctx: ctx, space: t.store.space, version: uint64(version)}, nil
}

// waited notes a wait for the servers that began then.
func (t *transaction) waited(began time.Time) { t.late = t.late || time.Since(began) > kv.Prompt }

// left is the bound of the next wait: wait, or less where the call has less time left besides what
// is kept for later.
func (t *transaction) left(wait, keep time.Duration) time.Duration {
	return min(wait, max(leastTimeout, waitBound-time.Since(t.since)-keep))
}

// impatient reports that the call has waited too long to make another attempt.
func (t *transaction) impatient() bool { return time.Since(t.since) >= patience }

// maxTag is FoundationDB's limit of a tag's length.
const maxTag = 16

// throttlingTag is FoundationDB's tag of a tenant, "kind:name": that itself if it is not too long,
// else as much of the SHA-256 of the name in hexadecimal digits as has room in place of it.
// Operators give it to fdbcli.
func throttlingTag(tenant string) string {
	if len(tenant) <= maxTag {
		return tenant
	}
	kind, name, _ := strings.Cut(tenant, ":")
	hash := sha256.Sum256([]byte(name))
	return (kind + ":" + hex.EncodeToString(hash[:]))[:maxTag]
}

// timeout has the transaction end when so much time from now on has passed.
func (t *transaction) timeout(left time.Duration) error {
	return t.Options().SetTimeout((time.Since(t.born) + left).Milliseconds())
}

// retry prepares the transaction for another attempt after it failed with err, an error of
// FoundationDB, and waits as long as FoundationDB finds right. It returns the contract's error when
// there shall be no other attempt.
func (t *transaction) retry(ctx context.Context, err error) error {
	var failed fdb.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.As(err, &failed):
		return err
	case failed.Code == codeTimedOut: // for FoundationDB the end, but only the time for reading was limited
		t.reset()
		return nil
	}
	switch again := t.OnError(failed).Get(); {
	case codeOf(again) == codeTimedOut: // the time that the last attempt had has passed meanwhile
		t.reset()
	case again != nil:
		return contractError(ctx, err)
	}
	return ctx.Err()
}
