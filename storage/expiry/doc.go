// Package expiry has documents deleted when their time has come. A revision expires, not a
// document: another edit takes its place, and expires only if it says so itself. So nothing but an
// edit that expires writes anything for it; what is stored of one whose revision was replaced goes
// away when its time comes.
//
//	(storage.ExpiryPrefix)                       counter of edits that expire; watched
//	(storage.ExpiryPrefix, ms, uuid, id)         the revision, and the name of the database that has the uuid
//	of a database: (storage.TagExpiry, id)       revision, ms
//
// expiry.go has all of it; check.go verifies what is stored.
//
// # Invariants
//
//  1. A document is deleted only while the revision that expires is the current one: the deletion
//     is an edit of it.
//  2. A database that takes the name of a deleted one never loses documents by what was stored for
//     that.
//  3. Deletions free space, and are written where the store is full.
//  4. Each key of a database has its entry in the list, with the same time and revision. The list
//     may have more.
//  5. Keys and values have the forms above.
package expiry
