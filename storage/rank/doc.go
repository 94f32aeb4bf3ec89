// Package rank counts the rows of a subspace before any key in a number of reads that grows with
// the logarithm of the rows. It may add up a number of each row in the same way.
//
// A rank index is a skip list over the rows' keys. A key's height is given by its hash: one in fan
// reaches level 1, one of those in fan level 2, and so on. On each level the boundaries (keys that
// reach it, and the empty key before all) have the weight of the rows from there up to the next
// boundary. A boundary comes and goes with its row.
//
// An index has one writer at a time: Fold takes changes of rows into the weights after the rows are
// written, at once or later. Where many write rows at once they note what they change elsewhere,
// and one of them folds it; whoever reads gives the changes that are not folded to what it calls
// (Deltas).
//
// Map:
//
//	index.go       the index and its keys
//	weight.go      weights and their stored form
//	deltas.go      changes of rows
//	fold.go        taking them into the weights
//	floors.go      boundaries before keys
//	read.go        sums, counts and selection
//	askback.go     reads of all levels together
//	prefixsums.go  what is before the boundaries of a level
//	build.go       all boundaries anew
//	check.go       the invariants checked
//
// Invariants:
//
//	R1 The weight of a boundary, with the changes that are not folded, is that of the rows up to the next boundary of
//	   its level.
//	R2 The boundaries of a level are the empty key and the rows that reach it, but for changes that are not folded.
//	R3 Heights depend on nothing but the key, the number of levels and the fan, which must not change for a stored
//	   index.
package rank
