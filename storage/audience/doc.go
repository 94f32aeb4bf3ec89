// Package audience keeps, for each principal that a document of a database with access for each
// document is meant for, the row of that principal's changes feed and list of documents, beside the
// rows of all. So a user's feed is a merge of the ranges of the user's principals, whose cost is
// that of the user's own documents.
//
//	TagAccess, 1, principal + 1 + 13 bytes of seq  row: flags, leaves, winner or those gone, id
//	TagAccess, 2, principal, id                 the principal's winner, if it is not deleted
//	TagAccess, 3, principal                     13 bytes of seq, of the principal's last row
//	TagAccess, 3, principal, n                  counter: 0 live documents, 1 deleted ones
//	TagAccess, 4, user, _local id [, chunk]     local documents of a user
//
// A leaf's record has its principals (formats.Leaf.Access), the winner's also since when each
// principal sees a leaf of the document, or that it does no more (formats.Sight). So a writer, who
// reads the leaves anyway, reads nothing else.
//
// # Map
//
//	index.go   Index: the keys; Row, its value
//	edit.go    Edit: what a change of leaves changes for principals; Writer: counts of a transaction
//	check.go   Tally: verifies what is stored, for package verify
//	read.go    Merged: the ranges of several principals as one; counts
//	named.go   whose feeds updates are in
//	tombstone.go  the revisions that tell who saw a leaf that it is seen no more
//
// # Invariants
//
//  1. A principal that a leaf names has one row of the document, at the sequence that the feed of
//     all has it, with the winner and the number of the leaves that name the principal.
//  2. The list of a principal has those of them whose winner is not deleted.
//  3. A principal that saw a leaf, and of whom an edit left none, has one row that the document
//     is gone, at the sequence of that edit, until it is purged or seen again; of a document the
//     newest MostGone are kept.
//  4. The sights of a winner name the principals of 1, and those of 3 as gone, each once.
//  5. A writer reads nothing for it, and writers of different documents share no key but by atomic
//     additions and blind versionstamps.
//  6. The leaves of a document name at most MostNamed principals together; its records stay below
//     one value.
//  7. The counters of a principal are the numbers of its live and of its deleted documents.
package audience
