// Package tuple encodes keys in FoundationDB's tuple encoding (its design/tuple.md): packed tuples sort by bytes as the
// tuples sort element by element, a shorter tuple before its extensions. Types sort as their codes: nil, byte strings,
// texts, nested tuples, integers, doubles, booleans, versionstamps. Byte by byte equal to FoundationDB's own, for the
// types supported here.
//
// Map: tuple.go tuples of any form (Pack, Unpack) · append.go one function per type, without allocations, for keys of a
// known form · read.go their inverses.
//
// Invariants:
//
//	T1 For tuples a and b, bytes.Compare(a.Pack, b.Pack) has the sign of the comparison element by element.
//	T2 Unpack(Pack(t)) is t; what Unpack accepts, Pack writes as the same bytes.
//	T3 The readers never panic, and never read beyond their element.
package tuple
