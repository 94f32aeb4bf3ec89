// Package views builds and reads map and reduce indexes: it parses design documents, runs their map
// functions over the changes feed or inside the documents' transactions, keeps the rows in order
// and answers queries as CouchDB 3.5 does.
//
// # One index for one map function
//
// What is built is an index: the rows of one map function. Its signature is a hash of all that the
// rows depend on, so views of one or of several design documents with the same map function share
// it, copies and renames of a design document find it built, and a change of one view leaves the
// others alone. Each reduce function that some view puts on top has aggregates below the index.
//
// # Invariants
//
//  1. An index is at one sequence of the feed: its rows are what the map function emits for the winners as they were
//     then. The commit of a batch reads and writes that sequence in one serialisable transaction, so a batch counts
//     once, whoever builds. One that is in pieces (10) is at the beginning, whatever rows it has.
//  2. IDS holds, for each document with rows, what it takes to find them; for one whose map function failed, just that,
//     and where it is in OVERSIZED. There are no other entries, and no other rows.
//  3. The counters of an index are the numbers of its rows, of their bytes, and of the documents in
//     OVERSIZED.
//  4. A purge takes the rows of a document that is gone out of every index in its own transaction; a builder that read
//     the document before leaves it out (it reads the database's last purge, and after one the documents' rows of the
//     feed, with conflicts).
//  5. A document whose map function failed has no rows in that index, and an entry in ERRORS.
//  6. An index written with another collate.Version or format is not read; it is built anew.
//  7. Levels are either whole or flagged absent; queries give the same answers with and without.
//  8. Rows of an interactive index change in the transaction of their document. The build-up leaves out documents whose
//     row of the feed moved after they were read, and so writes nothing that is older than what is there.
//  9. In an index of another language than JavaScript, a document whose rows do not fit is in OVERSIZED, and View.Scan
//     gives its rows among the others, in their order, as if they were there.
//  10. An index whose record names who leads is built in pieces of the feed: it is not interactive, and has no levels
//     and no sequence until all pieces are at their ends, when it is where the last one ends. Each piece is at one
//     sequence, which the commit of a batch reads and writes with the records of the indexes unchanged. No document is
//     in two pieces, and none was seen before: what changes meanwhile comes after the last one. Pieces are there only
//     below an index that leads.
//  11. An index by principal has, for each principal who may read a document's winner, the same
//     rows of it; a query of some principals reads no other rows.
//
// # File tour
//
//	views.go, types.go            Options, Views; what callers see
//	design.go, checkdesign.go     design documents: what they define; the checks on save
//	lookup.go, info.go, cleanup.go  views by name, _info, errors, unused indexes
//	keys.go, record.go, ids.go, rows.go  what is stored, with views/large
//	readers.go                indexes by principal, for users of databases with access for each document
//	open.go                       indexes of a design document: found, made
//	flight.go, job.go             builds: one at a time in a process, large ones as jobs
//	pieces.go, piecejob.go        first builds that processes share
//	again.go                      documents that lacked memory, tried again
//	wanted.go                     whether a build has still somebody to build for
//	pass.go, batch.go, mapping.go, commit.go, writer.go  a build: read, map, write
//	aggregates.go, reducers.go    what is kept above the rows, with views/levels and views/reduce
//	check.go, checkpieces.go      the check of the invariants above
//	interactive.go, interactivewrite.go, purge.go  what happens in the documents' transactions
//	query.go, rowbatch.go, groups.go  queries, with views/keyrange
//	statecache.go                      what queries know of indexes that do not change between them
//	scan.go                       what readers that make their own plans (Mango) need
//	oversized.go, oversizedread.go documents whose rows do not fit, and how such readers see them
//	reduce/, levels/          reduce functions; counts and aggregates
//	fields/, progress/        types in design documents; running builds
package views
