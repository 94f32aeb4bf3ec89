// Package compactions knows the compactions of databases that a process is at, and how far they
// are.
//
// Map: compactions.go List and the compactions in it.
//
// Invariants:
//
//  1. A compaction is in the list from Begin to End; two of one database are two.
package compactions
