// Package docread reads the documents of a database in one snapshot: leaves, their entries, and the
// bodies and lists of attachments that are too long for an entry. It reads what belongs to many
// documents together, which on a store across a network takes one round trip instead of one for
// each.
//
// A [Reader] is the snapshot. Lists read a [Window] of rows first, then what belongs to the rows
// with [Reader.LeavesEach] and [Reader.ReadEntries], whose memory is bounded however large leaves
// and bodies are. [Reader.OpenDoc], [Revisions] and [Reader.OpenEach] make documents of them.
//
// # File tour
//
//	reader.go    the snapshot; walks over a subspace
//	leaves.go    the leaves of a document
//	entries.go   entries and leaves of many documents together; windows
//	document.go  documents and revisions as they are given, and the options for them
//	winner.go    the current revision of a document; conflicts, revisions before it
//	revisions.go several revisions of one or many documents, by windows
//	open.go      one document, winners of many, local documents
//	each.go      documents that somebody names, with or without a revision
//	blobs.go     what is apart: long bodies and lists of attachments, the security object
//	members.go   some members of a long body
//	slice.go     what somebody sees of a database with access for each document
//	removed.go   tombstones of what somebody sees no more
//	idstream.go  subspaces in the order of ids
//
// # Invariants
//
//  1. Nothing is written, and nothing is read outside of the snapshot and the database.
//  2. What a reader was given by a callback is valid until the callback returns, or its next row is
//     read; Owned copies what is to stay.
//  3. What is read together is bounded: LeafBytes of leaves, WindowBytes of entries, LargeAhead of
//     what is apart, or one of them if that is more. Memory is asked before more is held.
package docread
