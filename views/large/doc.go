// Package large keeps values that may be longer than a value of the store can be: records of
// indexes and the list of interactive ones hold sources. Such a value is in chunks below its key,
// and the key itself has a format byte, a hash of the whole (16 bytes) and its length, so that to
// compare the values of two keys is to compare all. No other value begins with that format byte.
//
// Map: large.go
package large
