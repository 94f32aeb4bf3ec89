// Package txn is the part of a transaction that does not depend on the engine: the buffer of
// writes, reads that see them over a snapshot, the conflict ranges, the evaluation of atomic
// operations, and the registry of watches. memkv and pebblekv are built on it; an engine supplies a
// [Snapshot] and a commit.
//
// Map: tx.go the transaction: its writes and conflicts · reader.go its reads · iter.go a range of
// the snapshot with the writes laid over it · buffer.go, write.go what it wrote · stamped.go its
// versionstamped keys · apply.go the effects at commit · atomic.go atomic operations · ranges.go
// key ranges and sets of them · watch.go watches · arena.go memory.
//
// Invariants:
//
//	T1 Range clears come before all point writes: ClearRange drops the point writes that it covers, so at commit all
//	   cleared ranges are applied first, then each written key once, then the versionstamped keys.
//	T2 What was handed to a Tx is copied; what a Tx hands out stays as it is until the Tx is dropped or reset.
//	T3 A read adds a read conflict exactly where its answer depended on the snapshot; Snapshot() reads never do.
//	T4 A Tx is used by one goroutine at a time: by the transaction function, then by the committer.
package txn
