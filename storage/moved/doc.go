// Package moved knows when the keys of a store were brought to it from another one, as a restored
// backup of a FoundationDB cluster is: they name the cluster that they were on, or have
// versionstamps that are higher than those that this store gives out now. Where the copy's are not
// higher, as fdbrestore raises versions, those may be that the other store has given out after it
// was copied.
//
// Sequences must only grow, or a client that follows a database misses what is written next. So
// each such database gets its next incarnation, the first byte of its sequences. Other packages
// keep data at versionstamps alone, without an incarnation; Settle calls them to deal with it.
//
// Map: moved.go Is, Settle · home.go Home: where the store is, and whether it was there before.
//
// Invariants:
//
//  1. After Settle each database gives out sequences above all that are in it.
//  2. Settle changes nothing in a database that gives out such sequences already, whoever calls it when, and how often.
//     One that ended early is found by Is, and goes on.
//  3. The store names another home until all of its databases are settled.
package moved
