// Package search keeps full-text indexes in the store: those of `indexes` (_search) and of
// `nouveau` (_nouveau) in design documents, Mango's text indexes among them. It finds their
// definitions, builds them with the functions of design documents, or the language that these are
// in, and opens them in a snapshot for queries of package search/index. It knows no requests.
//
// An index is a log and segments. A build reads changes, has them mapped and analysed, and writes
// each document as an entry of the log, with what it replaces, in transactions that also move the
// sequence of the index on: whoever builds in between makes them fail. The place of an entry is its
// identity. A flush makes a segment of the log, a merge one of several; a build that has much to do
// makes segments directly. A query reads the manifest and what the log has since; the process
// remembers what it has read, and blocks of segments, which never change.
//
// Indexes without JavaScript are interactive: once one is built, the transactions of documents
// write their entries of its log. The others are brought up to date by queries before: many changes
// or few, by all callers that wait together.
//
//   - search.go: Indexes; definition.go: what design documents define; language.go: indexes without JavaScript;
//     keys.go, record.go: what is stored
//   - interactive.go: what happens in the documents' transactions
//   - flight.go: one build of an index at a time; build.go: reading; room.go: what all builds may hold together;
//     make.go: mapping, in pieces; fields.go: what functions give;
//     commit.go: transactions, purges; direct.go: segments without a detour by the log
//   - state.go: what a process remembers; blocks.go: blocks and sets of documents;
//     frequent.go: documents of frequent words, remembered
//   - again.go: documents that lacked memory, tried again
//   - claim.go: who writes a segment; flush.go, merge.go: how
//   - query.go: an index in a snapshot; synonyms.go: words that queries take for each other
//   - info.go: what is told of indexes, errors, clean-up; check.go: the check
//
// Invariants:
//  1. An index is at one sequence of the feed: it has the winners as they were then; an interactive one that is ready
//     has them as they are. The commit of a batch reads and writes that sequence, so that a batch counts once.
//  2. keyDocument has an entry for each document that is in the index, with its identity, which is alive in exactly one
//     segment or in the log; and one for each document that could not be indexed, whose reason is at keyError.
//  3. The log is in the order of its commits. A snapshot has it up to one place, and with the manifest that is all of
//     the index.
//  4. Documents of segments follow each other in the order of their identities, from segment to segment and on in the
//     log. A number of a segment is given once.
//  5. A purge takes documents that are gone out in its own transaction; a build that read them
//     before leaves them out.
//  6. A document that cannot be indexed does not keep others from it.
//  7. A state serves every snapshot with its manifest: entries and kills after the snapshot's end of the log are not
//     seen.
//  8. A transaction that changes the winner of a document writes it into the interactive indexes that are listed, ready
//     or not. A build leaves out what writers have put there, and its segments come before theirs.
package search
