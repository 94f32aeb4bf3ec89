// Package cache is a cache of values, bounded by their number or their bytes, that drops the least
// recently used ones first.
//
// Map: cache.go Cache, and Stamped, whose values are valid as long as the state that they were made
// of · loads.go the values that are being made.
//
// Invariants:
//
//  1. A value is given as it was put in, to any number of goroutines: whoever has put it in must
//     not change it any more.
//  2. A cache never exceeds its bound, except by a single value that is larger than the bound.
//  3. A stamped value is given only for the stamp that it was put in with.
//  4. Of those who ask Load for one value at the same time one makes it, unless its load fails.
package cache
