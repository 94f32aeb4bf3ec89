// Package replaced is the index of the replaced revisions of a database that are kept for a time,
// by the time at which they were replaced, so that the oldest ones are found without a look at the
// others.
//
//	of a database: TagReplaced, ms, and what the key in TagHistory has behind its tag   nothing
//
// Whoever writes an entry of TagHistory that says when it was replaced sets the row, and whoever
// removes such an entry clears it, in the same transaction: there is no read for it. Entries of
// databases that keep nothing for a time say no time, and have no row.
//
// # Map
//
//	index.go   Index: the keys, the oldest rows
//	check.go   Check: verifies what is stored, for package verify
//
// # Invariants
//
//  1. There is a row if and only if TagHistory has the entry that it names, and that says this time.
package replaced
