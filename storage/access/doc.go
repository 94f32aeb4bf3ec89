// Package access says who may see and write which leaves of a document, in databases with access
// for each document. It reads lists and compares them, and knows no keys.
//
//	principals.go  who asks: a user's name, roles and groups
//	parse.go       the member _access of a document
//	rules.go       what users may write; the list of a new leaf
//
// # Invariants
//
//  1. A list, and what Principals hold, is sorted and has nothing twice.
//  2. A user who may see none of a document's leaves changes none of them, and makes none beside
//     them.
//  3. After a user's edit, each leaf that it replaced is one that the user saw.
package access
