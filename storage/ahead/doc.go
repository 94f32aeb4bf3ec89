// Package ahead tells how much a list reads ahead: a window of rows first, then what belongs to all of them together,
// which on a store across a network is one round trip instead of one for each row. Only then the rows are given, and
// the list's cursor moves past each one that was taken, so that a list can go on in another snapshot wherever a read
// failed.
//
// Map: window.go Window, the size of the next window, and Take.
//
// Invariants:
//
//  1. A window is bounded in rows, and by what the windows before it had in bytes. Across a network it may be wider: as
//     wide as its documents have room in Bytes, whose sizes the rows tell.
package ahead
