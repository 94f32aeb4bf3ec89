// Package feed reads the changes of databases for the event functions of a process: each change
// once, however many functions want it, in the order of the database's feed, with what handlers
// get beside the document and with where the revision comes from.
//
// # Map
//
//	stream.go  Streams: what functions of the process read together; a Consumer of each; segments that are kept
//	row.go     Row: a change as functions see it, its partition and its metadata
//	origin.go  Origin: which function has written a revision, kept beside it
//
// # Invariants
//
//  1. A Consumer gets the rows behind a sequence in the feed's order and without a gap, read after
//     it joined, whoever has read them.
//  2. Rows are shared and never changed.
//  3. What is kept for others has a bound, and nobody depends on it.
package feed
