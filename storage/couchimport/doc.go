// Package couchimport writes the databases of CouchDB's data directories into a store, or another
// [Target]: every leaf revision with its line of ancestors and attachments, local documents,
// security, limits.
//
// # File tour
//
//	import.go      a database, shard by shard
//	target.go      where it goes: a store, or what others make of it
//	batch.go       revisions on their way into the store, several batches at once
//	locals.go      local documents, and which of them make no sense here
//	checkpoints.go the states that checkpoints of replications know, and their new sequences
//	copies.go      several nodes' copies of one shard: what one has purged
//
// # Invariants
//
//  1. A revision comes with the id, line, body and attachments that the file has, or is reported.
//  2. An import can be repeated and goes on: what is there stays, revisions are merged by their lines.
//  3. Memory is bounded by couchfile's windows and maxBatchBytes for each batch under way, however
//     large a database or an attachment is.
//  4. With no store to write to, everything is read and compared all the same: checksums, digests,
//     counts, ranges.
//  5. What a translated checkpoint has behind its sequence is all that its replication has not seen:
//     what it has seen was imported before anything else (marks), and a document that was changed
//     since comes later. Where that is not known it is left out, and the replication begins anew.
package couchimport
