// Package moved knows when the keys of a store were brought to it from another one, as a restored backup of a
// FoundationDB cluster is, whose versionstamps were higher than those that this store gives out now.
//
// Sequences must only grow, or who follows a database misses what is written next. So each such database gets its next
// incarnation, the first byte of its sequences. What is kept at versionstamps alone, without one, is what Settle has
// other packages see to.
//
// Map: moved.go Is, Settle.
//
// Invariants:
//
//  1. After Settle each database gives out sequences above all that are in it.
//  2. Settle changes nothing in a database that gives out such sequences already, whoever calls it when, and how often.
//     One that ended early is found by Is, and goes on.
package moved
