// Package tuple encodes keys in FoundationDB's tuple encoding (its design/tuple.md): keys sort by
// bytes as the tuples sort element by element, a shorter tuple before its extensions. Types sort as
// their codes: byte strings, texts, integers of up to 8 bytes, booleans, versionstamps. It has the
// types that keys of settee are made of, byte by byte equal to FoundationDB's, so that tools of
// FoundationDB can read all of them.
//
// Map: tuple.go the codes of the types · append.go one function per type, without allocations ·
// read.go their inverses.
//
// Invariants:
//
//	T1 For tuples a and b, bytes.Compare of what was appended has the sign of the comparison element by element.
//	T2 A reader gives what was appended; what a reader accepts is appended as the same bytes.
//	T3 The readers never panic, and never read beyond their element.
package tuple
