// Package lastuse keeps when queries last used the indexes of a database, to the hour, so that one
// that nobody needs is found. Below the database's TagUses:
//
//	design document              varint, seconds since 1970: when it was last changed
//	design document, kind, name  varint, seconds since 1970: a use by a query
//
// Map: lastuse.go what is noted and written · list.go what is read · hook.go changes of design documents
//
// # Invariants
//
//  1. Who notes a use waits for nothing, reads and writes nothing: the writer is a goroutine of its own.
//  2. A process writes the use of an index at most once an hour, and not at all while another one's is that new.
//  3. A design document that is deleted or purged has no entry: the transaction that takes it away takes them, too,
//     and the writer looks whether it is there.
package lastuse
