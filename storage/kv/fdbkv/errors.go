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

// FoundationDB's error codes that this package tells apart (flow/error_definitions.h).
const (
	codeTooOld            = 1007 // transaction_too_old
	codeFutureVersion     = 1009 // future_version: the storage server is behind the snapshot
	codeConflict          = 1020 // not_committed
	codeUnknownResult     = 1021 // commit_unknown_result
	codeCancelled         = 1025 // transaction_cancelled
	codeTimedOut          = 1031 // transaction_timed_out
	codeProcessBehind     = 1037 // process_behind: the same as future_version
	codeClusterChanged    = 1039 // cluster_version_changed: the commit may have happened
	codeTagThrottled      = 1213 // tag_throttled: transactions with the tag have to wait
	codeProxyTagThrottled = 1223 // proxy_tag_throttled: likewise, told by a proxy
	codeOperationCanceled = 1101 // operation_cancelled: of a future
	codeTooLarge          = 2101 // transaction_too_large
	codeKeyTooLarge       = 2102 // key_too_large
	codeValueTooLarge     = 2103 // value_too_large
)

// codeOf returns FoundationDB's code of err, 0 if it is no error of FoundationDB.
func codeOf(err error) int {
	var e fdb.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// isLate tells that a transaction ran longer than it can read.
func isLate(err error) bool {
	code := codeOf(err)
	return code == codeTooOld || code == codeTimedOut
}

// stall is the wait from which on servers count as not answering; an answer usually takes
// milliseconds.
const stall = 3 * time.Second

// stalled adds kv.ErrUnavailable to the error "too old" of a call that has waited for the servers
// since began: the transaction is old because they did not answer, not because its function was
// slow.
func stalled(err error, began time.Time) error {
	if isLate(err) && time.Since(began) >= stall {
		return fmt.Errorf("%w: %w", kv.ErrUnavailable, err)
	}
	return err
}

// isUnknown tells that a commit that failed with err may have happened, or may still happen.
func isUnknown(err error) bool {
	switch codeOf(err) {
	case codeUnknownResult, codeTimedOut, codeClusterChanged, codeCancelled:
		return true
	}
	return false
}

// isBehind tells that a read will succeed on the same snapshot in a moment.
func isBehind(err error) bool {
	code := codeOf(err)
	return code == codeFutureVersion || code == codeProcessBehind
}

// contractError returns the contract's error for one of FoundationDB, which it wraps; ctx is the
// transaction's.
func contractError(ctx context.Context, err error) error {
	switch codeOf(err) {
	case codeTooOld, codeTimedOut: // kv.ErrUnavailable besides, if the servers were slow
		return fmt.Errorf("%w: %w", kv.ErrTooOld, err)
	case codeTagThrottled, codeProxyTagThrottled: // for so long that its time has come
		return fmt.Errorf("%w: %w", kv.ErrUnavailable, err)
	case codeCancelled:
		if ctx.Err() != nil {
			return ctx.Err()
		}
	case codeTooLarge:
		return fmt.Errorf("%w: %w", kv.ErrTooLarge, err)
	case codeKeyTooLarge:
		return fmt.Errorf("%w: %w", kv.ErrKeyTooLarge, err)
	case codeValueTooLarge:
		return fmt.Errorf("%w: %w", kv.ErrValueTooLarge, err)
	}
	return fmt.Errorf("fdbkv: %w", err)
}
