// Package coalesce batches concurrent work: items that arrive while others of their kind are under
// way wait, and are then worked on together. What the work is is the caller's business.
//
// # File tour
//
//	batcher.go    a batcher, and how what waits in it moves; batchers by a key
//
// # Invariants
//
//  1. Each place is told its turn once. One that has left is not told, and one that was told cannot
//     leave.
//  2. Items with the same id, if they have one, never go on together.
//  3. If anything waits, something is under way, and takes what waits on when it ends.
package coalesce
