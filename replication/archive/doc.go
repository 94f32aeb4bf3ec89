// Package archive writes a database to a stream and reads it back: every leaf revision of every
// document with its line of ancestors, deleted ones too, as the database was at one sequence.
//
// # Forms
//
// An archive is lines of JSON. [FormNative] has, for each database,
//
//	{"name":"settee","format":1,"mode":"full","db":…,"seq":…,"partitioned":…,"revs_limit":…,
//	 "purged_infos_limit":…,"deleted_document_ttl":…,"security":{…}}
//	    of a database with access for each document the format is 2, and "access" is "self" or "any": programs that
//	    do not know that would restore it for everybody
//	{"group":name,"body":{"_rev":…,"members":[…]}}
//	    the groups of such a database come before its documents
//	{"expires":[{"id":…,"rev":…,"ms":…},…]}
//	    when revisions of the next batch are deleted, where some are, in milliseconds since 1970
//	{"readers":[{"id":…,"rev":…,"access":[principal,…]},…]}
//	    who may read tombstones of the next batch whose bodies do not tell
//	[{document},…]
//	    a batch of revisions, as _bulk_docs takes them with new_edits=false
//	{"attachment":digest,"encoding":…,"length":n,"encoded_length":n}, then {"data":base64},…
//	    bytes of the next batch's stubs, in their order; such a batch is one revision
//	{"end":true,"documents":n,"revisions":n,"attachments":n,"sha256":…}
//	    numbers and hash of all lines since the header
//
// [FormCouchBackup] is what the tool @cloudant/couchbackup writes and restores: one line of
// metadata, then batches, with attachments inline. It has no end line, so nobody can tell whether
// it is whole.
//
// Local documents (checkpoints of replications) are not part of an archive: they would be wrong for
// a database that went back in time. Neither are indexes, which are built anew.
//
// # File tour
//
//	write.go   a database to lines
//	writer.go  revisions that are in no store to lines
//	read.go    lines to batches of revisions and their attachments
//	restore.go batches into a database; comparing a database with an archive
//
// # Invariants
//
//  1. All that an archive has of a database is of one snapshot, on a store that lets a snapshot live that long; else
//     every document is at least as new as the sequence in the header.
//  2. A restored revision has the same id, body, line of ancestors and attachment digests; Verify
//     finds any difference.
//  3. A native archive that is cut off, or changed, is refused, at the latest at its end.
//  4. Memory is bounded by the longest line, which holds one document, or a batch of batchBytes; attachments pass in
//     pieces in the native form.
package archive
