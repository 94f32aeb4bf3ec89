// Package rights parses security objects, and remembers large ones that way: each request of a user reads the one of
// its database.
//
// Map: cache.go Object, Parse, and the Cache of objects.
//
// Invariants:
//
//  1. What is in a cache is never changed, and shared by all who read it.
//  2. A cache has at most Kept bytes of texts, if one of them is not larger. What they take parsed is about five times
//     as much.
package rights
