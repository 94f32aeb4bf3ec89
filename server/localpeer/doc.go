// Package localpeer makes databases of this server ends of replications, without HTTP in between:
// package documents under the interface of package replication (ADR 0012, ADR 0027).
//
// Map: peer.go the database and its local documents · feed.go its changes · documents.go revisions
// on their way out and in.
//
// Invariants:
//  1. A peer does what the handlers of the same requests would do for its principal; its errors have the form they
//     have over HTTP.
//  2. No transaction is held while the other end is slow: rows and documents are read in chunks and handed on
//     afterwards.
package localpeer
