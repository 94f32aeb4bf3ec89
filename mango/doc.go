// Package mango is CouchDB's query language over documents in a store: indexes, the choice of one,
// and queries. What a selector says of a document is package selector's.
//
//   - request.go, options.go, sort.go: the request of a query (mango_opts)
//   - index.go, catalogue.go, definition.go: indexes and how design documents hold them (mango_idx,
//     mango_idx_view)
//   - mapper.go: the rows of an index; rule.go: selectors as validate_doc_update
//     (mango_native_proc)
//   - usable.go, plan.go: the choice of an index (mango_cursor, mango_cursor_view); explain.go: what is said
//     of it
//   - allfields.go, rangeset.go: indexes over all fields, and the sets of ranges that a selector
//     asks of them
//   - optimize.go, cardinality.go: the choice between all access paths where there is such an index, by what each would
//     read
//   - textindex.go: indexes of full-text search; textmap.go: their fields; texttree.go, textquery.go: what they
//     are asked for a selector; readtext.go: a query of one
//   - find.go: a query at work; readdocs.go, parallelscan.go: the documents by id; readview.go: a JSON index;
//     readslice.go: one by principal, for users of a slice;
//     readentries.go: the entries of an index over all fields; readsorted.go: the same in the order of a
//     sort; collect.go: what an access path finds, sorted; count.go: how many there are
//   - pick.go: the members of a document that are asked for; bookmark.go, stats.go: what follows
//     the documents
//   - distinct.go: the values of a field; values.go: what package aggregate computes with
//   - errors.go: what clients are told
//
// Invariants:
//  1. A query has the same documents in the same order whatever reads them: the index, or the documents while it is
//     being built. The bookmark holds the order; with a sort or a JSON index every access path gives it, without them
//     it is that of the entries that are read.
//  2. A document that passes and stays as it is comes exactly once on the pages of a query, and in a query over several
//     snapshots.
//  3. A picker passes over members that nothing looks at: a selector sees no difference between a document and what was
//     picked.
//  4. A query of a slice (Source.Who) reads documents that the user sees, and their places in lists; rows of indexes
//     by principal (Index.ByPrincipal) of the user's own; no index of all documents, and no count of them.
package mango
