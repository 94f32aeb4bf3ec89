// Package cache keeps values that were made before, those that were used last, up to a number of
// them or of bytes.
//
// Map: cache.go Cache, and Stamped, whose values hold as long as what they were made of.
//
// Invariants:
//
//  1. A value is given as it was put in, to any number of goroutines: who puts it in does not
//     change it any more.
//  2. A cache has at most so many entries or bytes, if one alone does not take more bytes.
//  3. A stamped value is given only for the stamp that it was put in with.
package cache
