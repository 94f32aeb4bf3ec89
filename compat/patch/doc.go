// Package patch changes parts of documents: JSON Merge Patch (RFC 7396), and JSON Patch (RFC 6902)
// with the operation increment besides. A patch is read once and can be applied to many documents;
// what is not named by it keeps its place and its form.
//
//   - patch.go: Patch, what it is applied to and what comes of it
//   - special.go: the members of documents that begin with an underscore
//   - merge.go: merge patches
//   - operations.go, apply.go: lists of operations, read and applied
//   - tree.go, names.go: a document while operations change it
//   - pointer.go: JSON Pointer (RFC 6901)
//   - parts.go: operations on parts by Couchbase's paths, which event functions have
//   - equal.go, increment.go: the operations test and increment
//
// Invariants:
//  1. A node is never changed: an operation makes those on its path anew and shares all others, so
//     that a copy costs the same whatever is copied.
//  2. A node knows the bytes that it is printed with; more than the limit are refused before they
//     are printed.
//  3. What recurses does so over the depth of a patch, which has a limit, never over the document's.
//  4. Texts are compared and copied in canonical form: whatever is not is printed and read again.
package patch
