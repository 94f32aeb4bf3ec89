// Package timers keeps the timers of an event function: what is called, with what, and when. Each
// is found by its time and by its name.
//
// # Map
//
//	list.go   List: the timers of an instance: set, cleared, fired, found by their names
//	due.go    those that are due
//	entry.go  the entries of a timer, as they are stored
//	check.go  Checker: verifies what is stored
//
// # Invariants
//
//  1. A timer has two entries with the same nonce: one in the order of the times of its partition,
//     with its context, one by its name.
//  2. The pieces of a context are numbered without a gap, and all but the last one are full.
//  3. Of two timers with one name the later one replaces the earlier one.
//  4. Due takes little more than maxContexts bytes of contexts, or one context.
package timers
