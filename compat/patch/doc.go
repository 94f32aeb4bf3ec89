// Package patch changes parts of documents: JSON Merge Patch (RFC 7396), and JSON Patch (RFC 6902)
// with the operation increment besides. A patch is read once and can be applied to many documents;
// members that it does not name keep their place and their text.
//
//   - patch.go: Patch, its Target and its Result
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
//  2. A node stores its length in print, so that a document over the limit is refused before it is
//     printed.
//  3. Recursion goes over the depth of a patch, which has a limit, never over that of the document.
//  4. Texts are compared and copied in canonical form; a text in another form is first printed and
//     read again.
package patch
