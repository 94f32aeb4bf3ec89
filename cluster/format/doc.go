// Package format knows which programs may read and write a store: several versions of the program
// may have one store open while its nodes are upgraded one after the other.
//
// # The head of a store, one key
//
//	format, uuid (16 bytes) [, oldest format that a program must know to read, to write]
//
// Without the last two bytes both are the format.
//
// # Map
//
//	head.go      Head: what is stored; Program: what a program knows; Step; Open, Finalise
//	lower.go     Lower, InUse: back to the format before
//	guarded.go   Guarded: a store whose transactions all check the head
//
// # Invariants
//
//  1. A transaction on a guarded store whose program is too old for it, or too new, gives nothing
//     that it read and commits nothing, whenever the head was changed: the head is read in the
//     transaction, beside its first read.
//  2. A program writes a store in the format that its head says, not in the newest that it knows.
//     Only Finalise raises the format, only Lower lowers it.
//  3. A step is taken once, whole: each of its transactions moves the cursor (the head's key and a
//     byte), and the last one raises the format. Between them the head asks of readers a format
//     above the store's own, so that neither the program of before nor the one of after takes it
//     for a whole store.
//  4. Lower has the same promise, with a record of its own (the head's key and another byte). What
//     has begun in one direction does not turn round: Finalise refuses what Lower has rewritten in
//     part, and Lower what Finalise has.
//  5. Lower loses nothing: it looks for what the older format has no place for when nobody can
//     write any more, and where it finds any the head is again what it was, to the byte.
package format
