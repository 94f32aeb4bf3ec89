package kv

import (
	"context"
	"errors"
)

// Store is an ordered, transactional key-value store. All methods are safe for concurrent use. Keys
// sort below \xff, which may be the end of a range: keys from there on are the engine's own.
type Store interface {
	// View runs fn once on one consistent snapshot of the store. Nothing fn has read may be kept
	// after it returns. On an engine with a read time limit (Limits.ReadTime) a long fn sees
	// [ErrTooOld] from its reads; View does not run fn again, because fn may already have streamed
	// bytes to a client. A read across a network that became too old because its servers did not
	// answer fails with an error that is [ErrUnavailable] besides.
	View(ctx context.Context, fn func(ReadTx) error) error

	// Update runs fn in a serialisable transaction and commits what it wrote, durably, before it
	// returns. fn is run again when its reads conflict with another commit, when the transaction
	// became too old, and when the outcome of the commit was unknown and turned out not to have
	// happened; so fn must be free of side effects beyond the transaction. A transaction that
	// becomes too old again and again fails with [ErrTooOld] in the end. One across a network,
	// whose servers do not answer, fails with [ErrUnavailable] after a while (and [ErrTooOld]
	// besides, if that is what became of it); if it was the commit that they did not answer, nobody
	// knows then whether it has happened or will: no other error leaves that open. So does a commit
	// that an embedded engine cannot bring to its device. An error from fn rolls back and is
	// returned as it is, unless it came from a read that was too old. The returned Versionstamp is
	// the commit's (user part 0); it is zero when fn wrote nothing, not even a write conflict
	// range.
	Update(ctx context.Context, fn func(Tx) error) (Versionstamp, error)

	// Watch blocks until the value of key differs from seen (nil: the key is absent), and returns
	// nil; or until ctx ends, and returns its error. It never misses a change and may return early
	// at most when the value has changed and changed back. It costs no goroutine and no polling
	// inside an embedded engine beyond the caller's own.
	Watch(ctx context.Context, key, seen []byte) error

	// Health tells why the store could not serve reads and commits now: ErrFull, ErrCorrupt, what
	// else has failed; nil if it could. An engine across a network asks its servers, and waits for
	// them until ctx ends; an embedded one answers at once.
	Health(ctx context.Context) error

	// Limits tells the engine's hard limits; a zero field means none.
	Limits() Limits

	// Close waits for running transactions, ends watches with ErrClosed and releases the store.
	// Later calls fail with ErrClosed.
	Close() error
}

// ReadTx reads from one snapshot (in a Tx: the snapshot overlaid with the transaction's own
// writes). It must not be used by two goroutines at once, nor after its function returned. Byte
// slices handed to it may be reused by the caller as soon as the call returns.
type ReadTx interface {
	// Get returns the value of key. The value may be read until the transaction function returns
	// and must not be modified. A missing key is (nil, nil); a present, empty value is a non-nil
	// empty slice.
	Get(key []byte) ([]byte, error)

	// GetMany is Get for several keys at once, in the order given; an engine across a network
	// issues them together.
	GetMany(keys [][]byte) ([][]byte, error)

	// Range iterates over begin <= key < end in ascending or descending order. The read starts at
	// once, so several ranges opened before the first is drained overlap on an engine across a
	// network. The caller closes the iterator. In a Tx the iterator sees the writes made before the
	// call; of those made later in the part not yet read it may see some. What conflicts is at
	// least what was read: up to the last row, or the whole range when the iterator came to its
	// end; with a Limit that was reached it is exactly that.
	Range(begin, end []byte, opts RangeOptions) Iterator

	// Snapshot returns the same reader whose reads add no conflict ranges. In a View it returns
	// itself.
	Snapshot() ReadTx

	// ReadVersion is the commit version of the snapshot: every transaction with a commit version at
	// or below it is seen.
	ReadVersion() (uint64, error)

	// SizeEstimate returns about how many bytes the range takes on disk.
	SizeEstimate(begin, end []byte) (int64, error)
}

// Tx is a read-write transaction.
type Tx interface {
	ReadTx
	Writer
}

// Writer is the writing side of a Tx. Errors of writes (a key too large, …) are kept and returned
// by Update.
type Writer interface {
	Set(key, value []byte)
	Clear(key []byte)
	ClearRange(begin, end []byte)

	// Atomic applies op to the key's value at commit time, without a read conflict.
	Atomic(op AtomicOp, key, param []byte)

	// SetVersionstampedKey sets key, whose 10 bytes at offset are replaced by the commit's
	// transaction version (8 bytes commit version, 2 bytes order in the batch). The 2-byte user
	// part, if any, follows and is the caller's. The key cannot be read in the transaction that
	// writes it, since it is not known yet: reads of keys that begin with key[:offset] fail with
	// ErrUnreadable, ranges when they come to the first such key.
	SetVersionstampedKey(key []byte, offset int, value []byte)

	// SetVersionstampedValue is SetVersionstampedKey for 10 bytes at offset of the value; the key
	// cannot be read.
	SetVersionstampedValue(key []byte, value []byte, offset int)

	// AddReadConflictRange makes the commit fail (and fn run again) if a key in begin <= key < end
	// was written since the snapshot.
	AddReadConflictRange(begin, end []byte)
	// AddWriteConflictRange makes other transactions that read in the range conflict with this one.
	AddWriteConflictRange(begin, end []byte)

	// Size is about how many bytes the transaction would send so far (keys, values, conflict
	// ranges), to be held against Limits.TransactionSize.
	Size() int
}

// SetOwned is [Writer.Set] for a large value that stays as it is until Update has returned: an
// engine that can takes it without a copy.
func SetOwned(w Writer, key, value []byte) {
	if o, ok := w.(interface{ SetOwned(key, value []byte) }); ok {
		o.SetOwned(key, value)
		return
	}
	w.Set(key, value)
}

// GetCached is [ReadTx.Get] of a key that hardly ever changes and that other reads depend on. A
// store that caches such keys (wrapkv.Prefetching) gives the value that it had the last time. If it
// has another one now the transaction function is run again; a View's too, but before it has seen
// any other value. Other stores read the key. Only Set and Clear may write it in the same
// transaction.
func GetCached(tx ReadTx, key []byte) ([]byte, error) {
	if c, ok := tx.(interface {
		GetCached(key []byte) ([]byte, error)
	}); ok {
		return c.GetCached(key)
	}
	return tx.Get(key)
}

// Iterator walks over a range. Use:
//
//	it := tx.Range(begin, end, kv.RangeOptions{})
//	defer it.Close()
//	for it.Next() { use(it.Key(), it.Value()) }
//	return it.Err()
type Iterator interface {
	// Next moves to the next entry; false at the end or on an error.
	Next() bool
	// Key and Value are valid until the next call of Next or Close and must not be modified.
	Key() []byte
	Value() []byte
	// Err returns what ended the iteration, nil at a regular end.
	Err() error
	// Close is idempotent and returns Err.
	Close() error
}

// RangeOptions are the options of a range read; the zero value reads everything in ascending order.
type RangeOptions struct {
	Limit   int  // at most so many entries; 0: no limit
	Reverse bool // descending
	// Hint of how the range will be consumed: a whole range that is surely drained may be fetched
	// in large pieces.
	WantAll bool
}

// AtomicOp names an atomic operation. Integers are little-endian; a missing value counts as absent,
// a shorter one as padded with zeros.
type AtomicOp uint8

const (
	Add             AtomicOp = iota + 1 // little-endian integer addition, wrapping, in the width of param
	Max                                 // unsigned little-endian maximum
	Min                                 // unsigned little-endian minimum; absent: param
	ByteMax                             // lexicographic maximum
	ByteMin                             // lexicographic minimum; absent: param
	CompareAndClear                     // clears the key if its value equals param
)

// Versionstamp orders commits: 8 bytes commit version, 2 bytes order in the batch, 2 bytes chosen
// by the user, all big-endian. Across restarts of an engine on the same data versionstamps keep
// growing.
type Versionstamp [12]byte

// VersionstampSize is the length of the part that the engine fills in.
const VersionstampSize = 10

// Limits are the hard limits of an engine; 0 means no limit.
type Limits struct {
	KeySize         int // bytes
	ValueSize       int // bytes
	TransactionSize int // bytes, as Tx.Size counts
	ReadTime        int // milliseconds a snapshot can be read

	// Together is how many reads are best asked for at once: across a network they take one round
	// trip. 0: each read is answered at once, so that it gains nothing to ask for more than what is
	// needed.
	Together int
}

// FDBLimits are FoundationDB's, for tests that hold code on an embedded engine to them.
var FDBLimits = Limits{
	KeySize: 10_000, ValueSize: 100_000, TransactionSize: 10_000_000, ReadTime: 5_000, Together: 1024,
}

// The errors of the contract. Engines wrap them with detail; compare with errors.Is.
var (
	ErrClosed        = errors.New("kv: store is closed")
	ErrLocked        = errors.New("kv: store is in use by another process")
	ErrTooOld        = errors.New("kv: transaction is too old to read")
	ErrUnavailable   = errors.New("kv: store does not answer")
	ErrKeyTooLarge   = errors.New("kv: key too large")
	ErrValueTooLarge = errors.New("kv: value too large")
	ErrTooLarge      = errors.New("kv: transaction too large")
	ErrUnreadable    = errors.New("kv: read of a versionstamped key in the transaction that writes it")
	ErrFull          = errors.New("kv: no space left on the device")
	ErrCorrupt       = errors.New("kv: store is corrupt")
	ErrFormat        = errors.New("kv: store was written by another version")
	ErrInvalidRange  = errors.New("kv: range begins after its end")

	// ErrUnwritable is the [ErrFull] of a data directory that takes no writes for another reason
	// than space: its file system has become read-only, or the permission is gone.
	ErrUnwritable error = unwritable{}

	// ErrInvalidOperation is the error of a call that is wrong whatever the store holds: an unknown
	// atomic operation, a versionstamp that does not fit at its offset.
	ErrInvalidOperation = errors.New("kv: invalid operation")
)

// unwritable is an ErrFull, too: work that waits for space also waits for the permission.
type unwritable struct{}

func (unwritable) Error() string        { return "kv: the data directory cannot be written" }
func (unwritable) Is(target error) bool { return target == ErrFull }

// Damage is a part of a store's files that cannot be read.
type Damage struct {
	// File is the name of the file, What is why.
	File, What string
	// Blocks is how many blocks of a table are broken, 0 where it is not about blocks.
	Blocks int
	// From and To bound the keys that were there: From <= key < To. A nil one is not known.
	From, To []byte
}
