// Package salvage brings documents out of a store of which keys are missing into a new one. Nothing
// derived is copied: documents are written again as replicated ones, so that counters, ranks, feeds
// and trees are those of what there is now, and indexes are built anew.
//
// The sequences of a salvaged database begin anew, above all that it ever gave out (the incarnation
// grows): a client that goes on from a sequence of before is given all documents again, instead of
// missing some. Checkpoints of replications are left out: they say that the database has things
// which it may have lost. So replications begin anew, and heal it.
//
// Map: salvage.go databases, their settings, purge requests, local documents · documents.go documents
// with what is left of their leaves, older revisions and attachments · expiry.go when they expire.
//
// # Invariants
//
//  1. The damaged store is only read.
//  2. What cannot be brought back, or comes back as something older, is told as a [Loss].
//  3. A revision comes with the body and the attachments that it had, by their digests, or not at all.
//  4. A replaced revision that is kept for a time is kept in the new store, from the salvage on for as long again.
//     Others go away with the next compaction, and are only used in place of a revision that is lost.
//  5. A document expires when it did, if the revision that expires is the current one.
package salvage
