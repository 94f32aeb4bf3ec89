// Package multipart reads and writes bodies in parts as CouchDB does: documents with their
// attachments (multipart/related), several of them (multipart/mixed of open_revs and _bulk_get),
// ranges of an attachment.
//
// Map: reader.go parts of any body · related.go a document and its attachments, read · writer.go
// all that is written.
//
// Invariants:
//
//	P1 No more than a buffer of a body is held, however large its parts.
//	P2 What writer.go announced as a length is what it writes, or the writer fails.
//	P3 Names and types of attachments cannot begin a line of a part's header.
package multipart
