// Package autopurge has deleted documents purged when they are older than their database, or the
// server, keeps them: CouchDB's couch_auto_purge_plugin.
//
// Which ones are due is told by the times of the changes feed (storage.DB.Begin): all that it has
// before the first change since a time was committed before that time. They are found in the index
// of package tombstones, and purged as by a request.
//
//	sweeper.go  Sweeper: passes over all databases, in steps
//	target.go   a database: what is due is read and purged, its index is built
//	history.go  History: passes in which replaced revisions are removed that were kept for a time
//	period.go   how long something is kept, as people write it
//
// # Invariants
//
//  1. What is purged is all leaves of a document whose winner is deleted, in one transaction in which it still is, by
//     the update that is older than the life.
//  2. By the clocks of those who deleted and of the one who purges, nothing is purged before its time. It may be kept
//     longer: where times are coarse (package timeseq), unknown, or clocks were set back.
//  3. A step reads the record and the times of one database, or what is due in it; nothing of documents that are not
//     deleted, but while the index of an older database is built, once.
//  4. Nothing is kept of a pass but its effects: a process that ends leaves nothing to be mended, and the next pass
//     begins with what is left.
package autopurge
