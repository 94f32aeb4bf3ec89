// Package datum has the values of N1QL, and their order.
//
//   - value.go: Value, one of JSON or MISSING, and what it takes in memory
//   - number.go: Number, and calculations
//   - members.go: objects that grow
//   - compare.go: the order of all values, and keys of equal ones
//   - like.go: patterns of LIKE
//
// Invariants:
//  1. A Value is immutable. One that is a part of a document is valid as long as the document is.
//  2. Comparisons end at maxCompared levels, so that no document overflows the stack.
//  3. Integers stay exact as long as they fit into 64 bits; the ones of documents have any size.
package datum
