// Package storage keeps databases, documents, revision trees, attachments and change feeds in an
// ordered transactional key-value store. It knows CouchDB's document model, and nothing of HTTP or
// JavaScript.
//
// # Model of a database
//
// A database is a record (name -> [record]) that gives it a short key prefix; below the prefix each
// kind of data has its own subspace (keyspace/ has all keys). A document is the set of its leaf
// revisions:
//
//	REVS     one record per leaf: its line of ancestors, sizes; the winner's also has the document's sequence and, if
//	         that is short, its entry: metadata, attachments, the body
//	DOCS     the entries of other leaves that have a body
//	HISTORY  entries of replaced revisions, until compaction, or for a time
//	ATT      bytes of attachments and of large bodies, which entries refer to
//	ALL_DOCS the ids of documents whose winner is not deleted, with the winner
//	CHANGES  every document at the sequence of its last update
//
// The keys of DOCS and REVS are (id, not deleted, depth, hash), so the winning revision sorts last:
// reading the current body of a document is the database record and one reverse range read, and one
// more read where it is long.
//
// # Handles
//
// A [Store] gives a [DB] for a name. What belongs together of it is held by a type of its own:
// [DB.Feed] the changes, [DB.Settings] limits and access, [DB.Attachments] their bytes, [DB.Locals]
// lists of local documents. A [Snapshot] is one consistent read, a [Tx] a transaction that a hook
// takes part in.
//
// # File tour
//
//	keyspace/                           keys, database records, counters
//	store.go, database.go               the store, create/delete/list/info
//	formats/                            values: attachments and bodies; leaves with their lines, winners, changes
//	docread/                            documents as they are read in a snapshot: leaves, entries, winners, revisions
//	tx.go                               a snapshot of one database, a transaction on it
//	types.go                            options and results
//	read.go, openrevs.go                one revision, open_revs and _bulk_get
//	update.go, bulk.go, batch.go        writes: the API, the transactions of a request, what is done in one
//	commit.go                           edits of several databases in one transaction, all or none
//	room/                               the memory of a request that indexes large documents
//	deferred.go, validate.go            callbacks of validation and indexes that run between transactions
//	edit.go, replicate.go               what an edit or a replicated line does to a document's tree
//	flush.go, claims.go                 what is stored of that
//	slice.go, access/, audience/        databases as one of several readers sees them; rules; what each one sees
//	readers.go                          who may read the leaves that an edit makes
//	alldocs.go, listrange.go, docscan.go  lists of ids, with documents
//	leafwindow.go                       leaves of the documents of a request, read together
//	counts/, rank/                      counts of rows of lists and the feed; the indexable skip list of those of ids
//	countfold.go                        when the log of counts is folded
//	local.go, purge.go, settings.go     _local documents, _purge, limits
//	security.go                         the security object
//	changes*.go                         the changes feed
//	listeners/                          who waits for updates is woken
//	attachments.go, blobs/              attachments; bytes apart from entries: uploads, references, reads
//	chunks/                             the memory of what is uploaded
//	coalesce/                           how edits of single documents wait for others, to share a transaction
//	body.go, largebodies.go             bodies that are too large for their entries, or for a transaction
//	compact.go                          compaction
//	history.go, replaced/               replaced revisions that are kept for a time; their index
//	verify/                             the check of the invariants below
//	full.go                             what a full store still takes
//	salvage/                            documents out of a store of which keys are missing; on this package
//	metrics.go                          what a Store counts, for Prometheus
//	background.go, dbevents.go          what a Store does beside its calls; the documents behind _db_updates
//	hooks.go, indexers/, designdocs.go  what higher layers plug in: validation, indexes written with the document
//	lastuse/                            when queries used indexes last
//	snapshot.go                         what they read and write themselves: snapshots, transactions beside documents
//	revtree/                            the revision tree, without any I/O
//
// # Invariants (checked by verify.Check)
//
//  1. Every leaf has exactly one REVS entry; the one that sorts last is the winner, and only it
//     carries a sequence.
//  2. A leaf that is not deleted has an entry; a deleted one has one only if it has a body other than {} or
//     attachments. An entry is in the leaf's record, which only a winner's may be, if it is short, or one key of DOCS.
//     DOCS has no others.
//  3. ALL_DOCS holds an id if and only if the winner is not deleted, with that winner. DESIGNS changes whenever the
//     row of a design document in it does.
//  4. CHANGES holds each document with a leaf exactly once, at the winner's sequence.
//  5. doc_count is the number of entries in ALL_DOCS, doc_del_count that of documents with only
//     deleted leaves.
//  6. The counts of each rank level, with what the log of counts says beside them, add up to the number of rows below
//     (counts/reader.go); those of the sequence blocks, likewise, to the rows of CHANGES (counts/seqblocks.go).
//  7. The reference count of an attachment, or of a body that is apart, is the number of entries of leaves and of
//     HISTORY that name it; its bytes are there, whole and with its digest. Other bytes have a pending marker, and no
//     count: uploads, and what was released a while ago.
//  8. Nothing reads a counter with a conflict on the write path, and writers of different documents share no read key
//     but the database's record (which only creation, deletion and changes of settings write) and what hooks read.
//  9. A document changes in one transaction, all of it: leaves, bodies, lists, counters, indexes of
//     higher layers.
//  10. Bytes handed to callbacks are valid until the callback returns; bytes in returned values
//     belong to the caller.
//  11. Every key below the root tags belongs to one database, whose record has its prefix; no
//     prefix is used twice.
//  12. Local documents, purge requests and the security object are whole.
//  13. HISTORY holds only ancestors of leaves, and the counters of it say how many, with how many
//     bytes.
//  14. The last sequence is at or after the last row of CHANGES; there are at least as many updates
//     as documents.
//  15. The sizes of a database and of its partitions are the sums of those of its leaves.
//  16. No transaction waits for another process: hooks defer callbacks, and the transaction runs again with their
//     results (deferred.go).
//  17. Package tombstones' index agrees with CHANGES.
//  18. Package replaced's index agrees with HISTORY.
//  19. In a database with access for each document the rows, lists and counters of principals agree with the leaves
//     (package audience); in others there are none.
//
// (8 to 10 and 16 are about code; verify looks at what is stored.)
package storage
