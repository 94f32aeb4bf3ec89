// Package blobs keeps bytes that are too long for the entries of documents: attachments, large
// bodies, long lists of attachments. Each blob is under an id of its own, which entries refer to.
//
//	TagAtt, id, n        bytes n*keyspace.MaxValue.. of the blob, keyspace.MaxValue of them except in the last chunk
//	TagAtt, id, -1       of a long body: where its members are (formats.MembersTable)
//	TagAttRefs, id       number of entries that refer to it, 8 bytes little-endian
//	TagAttPending, id    time (µs since 1970, varint) until which bytes without a reference stay
//
// An upload is streamed to the store before its document is written, in transactions of bounded
// size, with a pending marker. The document's transaction claims it: it requires the marker, and
// replaces it by a reference. When the last reference goes a marker takes its place, for those who
// are reading; bytes are removed when their marker is out of date.
//
// The first bytes of a request, up to Memory, take no transaction of their own: they are written with
// the document. Bytes are read to where they stay until the store has them in its log: nothing
// copies them on the way.
//
// # Map
//
//	references.go   Tx: blobs put, claimed, shared and released in a transaction
//	uploads.go      Uploads: attachments of a document that is about to be written
//	read.go         Read: the bytes of an attachment, as stored or decoded
//	collect.go      Collect: uploads that no document claimed in time
//
// # Invariants
//
//  1. An id has either a marker or references.
//  2. Whatever happens between an upload and its document, bytes that a document refers to stay, and
//     others go in the end.
//  3. The bytes of a blob never change: a read may go on in another snapshot.
//  4. Memory of an upload is bounded by about one MB whatever its size.
//  5. A reference is added without a read of its count.
package blobs

import (
	"context"

	"github.com/settee-db/settee/storage/docread"
)

// Database is the one that blobs are in.
type Database interface {
	// ViewBlobs runs fn on a snapshot of the database, and again on a newer one when that became too
	// old. The error is compat.ErrNoDatabase if there is none.
	ViewBlobs(ctx context.Context, fn func(*docread.Reader) error) error
	// UpdateBlobs runs fn in a transaction on the database, again when it conflicts, and finishes
	// what it did.
	UpdateBlobs(ctx context.Context, fn func(*Tx) error) error
}
