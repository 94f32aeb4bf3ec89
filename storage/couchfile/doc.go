// Package couchfile reads the database files of CouchDB 0.10 to main without Erlang: documents with
// all leaf revisions, their lines of ancestors and attachments, local documents, purges and the
// settings of a database. It only reads; the caller decides where the documents go.
//
// A file is append-only: its last valid header names the roots of B-trees whose nodes, bodies and
// attachments stand before it, so the file of a running server can be read as well. Everything in a
// file is doubted: a length is compared with what is there before memory is taken for it.
//
// # File tour
//
//	terms.go      a cursor over Erlang's external terms; the compressions of couch_compress
//	seq.go        sequences of clustered databases, which clients and checkpoints have
//	json.go       a term as the JSON text that jiffy makes of it
//	blocks.go     bytes of a file without the prefixes of its blocks; records and their checksums
//	header.go     the last valid header of a file, in all its versions
//	tree.go       B-trees, from their first key to their last
//	database.go   what a file has beside documents: settings, local documents, purges
//	documents.go  documents: their trees of revisions, bodies and attachments
//	directory.go  the files of a data directory: which databases it has, in which shards
//
// # Invariants
//
//  1. Nothing read makes a panic, a loop or more memory than a small multiple of the record it is in:
//     a record has at most maxRecord bytes, compressed and not, and a node's children stand before it.
//  2. What has a checksum and is changed is a [Damage], never a document.
//  3. A damage costs what stands below it, no more: all other documents are still there.
package couchfile
