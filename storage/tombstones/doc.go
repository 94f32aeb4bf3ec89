// Package tombstones is the index of the deleted documents of a database by the place of their
// deletion in the changes feed, so that those that are old enough to be purged are found without a
// look at the documents that are not deleted.
//
//	of a database: TagTombstones + 13 bytes of seq  id of the document that CHANGES has there
//
// Whoever writes a row of the feed keeps the index, in the same transaction, by one key: there is no
// read for it.
//
// # Map
//
//	index.go   Index: what writers do, the oldest rows
//	check.go   Check: verifies what is stored, for package verify
//
// # Invariants
//
//  1. The index has an id at a sequence if, and only if, CHANGES has a deleted document of that id there.
//  2. An ordinary edit sets a key for a document that is deleted now and clears one for a document
//     that was, and reads nothing.
package tombstones
