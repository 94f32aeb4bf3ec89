// Package sweeper removes from a store what has had its time: documents that expire, deleted documents
// that are to be purged, answers that are kept no longer. It is one job for all processes of a store.
//
// # Map
//
//	sweeper.go  Sweeper: the job
//
// # Invariants
//
//  1. The deletion of a document that has expired is marked in the transaction that makes it, where
//     functions see it.
package sweeper
