// Package fdbkv is the engine of the store contract kv.Store for FoundationDB 7.3, on its official
// binding. It is built with the tag fdb and needs FoundationDB's client library; without the tag
// the package is empty.
//
// Map: store.go open, close, View · update.go Update: attempts and their outcomes · commit.go what
// an attempt sends · marker.go the markers that tell the outcome of a commit · transaction.go a
// transaction that ends with its context · snapshot.go, iter.go its reads · space.go keys below the
// prefix · watch.go watches · errors.go FoundationDB's errors · status.go the cluster's own status
// · identity.go the cluster's identity · include a header for checking the code where the client is
// not installed.
//
// The overlay of a transaction's own writes, its conflict ranges and its errors are internal/txn's,
// as in the other engines: FoundationDB's own is switched off, reads go to it as snapshot reads,
// and a commit sends conflicts and writes.
//
// Invariants:
//
//	F1 All keys lie below the prefix. Data is prefix+key with key < \xff; below prefix+\xff are the engine's own keys.
//	F2 The snapshot is taken before the function runs: its read version is known by then.
//	F3 A commit whose outcome is unknown is never run again, nor reported but as kv.ErrUnavailable, before its marker
//	   has told the outcome; a marker that says "not committed" also keeps the commit from happening later.
//	F4 A marker's key belongs to one Update at a time, which took it before its first snapshot: no two conflict over
//	   it.
//	F5 A context ends waiting and reading, never a commit that is under way.
//	F6 No View or Update waits for a cluster that does not answer for longer than 20 seconds, but those in the
//	   background (kv.InBackground), which begin at the priority "batch".
//	F7 However many watch a key in this process, FoundationDB has one watch of it.
package fdbkv
