// Package revtree is the revision tree of one document, kept as its leaves with their lines of
// ancestors. It does no I/O.
//
//   - tree.go: [Leaf], [Tree], the order of winners, lookups
//   - line.go: [Line], a leaf's ancestors, and [Lines], which lets lines share memory
//   - merge.go: adding a line of revisions, as an edit or from a replicator
//   - stem.go: cutting lines to the revs_limit, joining fragments
//
// A tree in CouchDB is a forest of nodes (couch_key_tree). Here a node exists because a leaf's line
// goes through it; two lines belong to one tree of the forest if they begin at the same depth with
// the same hash. What couch_key_tree does on nodes is done on lines, with the same outcome.
//
// Invariants (after Merge only once Stem ran):
//  1. No two leaves have the same revision.
//  2. No line is a part of another line of the same tree.
//  3. All lines of one tree of the forest begin at its root.
package revtree
