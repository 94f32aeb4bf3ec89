// Package counts tells how many rows the lists and the feed of a database have, before any of them,
// without a counter that writers would have to read: they append what they did to a log (log.go),
// at their versionstamps, and a folder takes the log into counts of ranges of ids and of sequences
// (fold.go). A reader adds up the counts and the entries that are not folded yet, all in one
// snapshot, so that its result is exact.
//
// # File tour
//
//	reader.go     a snapshot of the counts of a database; the rank index over ids
//	log.go        what writers log, and what of it is not folded yet
//	fold.go       the log goes into the counts; package storage says when
//	seqblocks.go  counts of rows of the feed
//	cut.go        the feed in ranges of about as many rows, by those counts; which rows it has
//	times.go      when commits were made, which is in the log as well
package counts
