// Package keyrange makes the ranges of row keys that a query of a view reads, and reads several of
// them as one.
//
//	rowkey.go  what row keys begin with: partitions, principals
//	range.go   the options of a query as ranges
//	merge.go   the ranges of several principals, merged
//
// # Invariants
//
//  1. Prefixes of different partitions or principals are not prefixes of each other, and no key of
//     a JSON value begins with the first byte of a principal's: rows of one principal are a range
//     of their own.
//  2. A merge gives each row once that several principals have, in the order of the rows without
//     their principals.
package keyrange
