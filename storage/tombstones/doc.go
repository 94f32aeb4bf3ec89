// Package tombstones is the index of the deleted documents of a database by the place of their
// deletion in the changes feed, so that those that are old enough to be purged are found without a
// look at the documents that are not deleted.
//
//	of a database: TagTombstones                  13 bytes of seq: how far Build has come
//	               TagTombstones + 13 bytes of seq  id of the document that CHANGES has there
//
// Whoever writes a row of the feed keeps the index, in the same transaction, by one key: there is no
// read for it. A database of an older version has rows from before. Build adds those, piece by
// piece, beside writers, and marks the database's record at the end (keyspace.Record.Tombstones).
//
// # Map
//
//	index.go   Index: what writers do, the oldest rows, Build
//	check.go   Check: verifies what is stored, for package verify
//
// # Invariants
//
//  1. The index has an id at a sequence only if CHANGES has a deleted document of that id there.
//  2. If the record says so, it has every such row.
//  3. An ordinary edit sets a key for a document that is deleted now and clears one for a document
//     that was, and reads nothing.
package tombstones
