// Package memkv is the reference model of the store contract: the whole store in memory, each part
// in the plainest way that is right. Other engines are tested against it, and tests of upper layers
// run on it.
//
// Map: store.go the store · commit.go the commit · snapshot.go its states · disk.go what survives a
// restart.
//
// Invariants:
//
//	M1 A state is an ordered map that is never modified once published; a commit publishes a new one.
//	M2 Commits happen one at a time, under Store.mu; commit n has version n and order 0.
//	M3 The write conflicts of a commit are kept as long as a transaction with an older snapshot runs.
package memkv
