// Package packed reads and writes what is stored under keys: bytes, varints, byte strings behind
// their lengths. Keys themselves are package tuple's.
//
// Map: packed.go the reader, and what appends what it reads beside encoding/binary's varints.
//
// Invariants:
//
//	P1 The reader never panics, never reads beyond its bytes, and makes no memory that is not paid for by bytes.
//	P2 After the first thing that is missing or damaged it gives zeros and Bad stays set.
package packed
