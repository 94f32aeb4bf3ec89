// Package search keeps full-text indexes in the store: those of `indexes` (_search) and of `nouveau` (_nouveau) in
// design documents. It finds their definitions, builds them with the functions of design documents, and opens them in a
// snapshot for queries of package search/index. It knows no requests.
//
// An index is a log and segments. A build reads changes, has them mapped and analysed, and writes each document as an
// entry of the log, with what it replaces, in transactions that also move the sequence of the index on: whoever builds
// in between makes them fail. The place of an entry is its identity. A flush makes a segment of the log, a merge one
// of several. A query reads the manifest and what the log has since; the process remembers what it has read,
// and blocks of segments, which never change.
//
// Queries bring the index up to date before: many changes or few, by all who wait together.
//
//   - search.go: Indexes; definition.go: what design documents define; keys.go, record.go: what is stored
//   - flight.go: one build of an index at a time; build.go: reading and mapping; fields.go: what functions give;
//     commit.go: transactions, purges
//   - state.go: what a process remembers; blocks.go: blocks and sets of documents
//   - claim.go: who writes a segment; flush.go, merge.go: how
//   - query.go: an index in a snapshot; info.go: what is told of indexes, errors, clean-up; check.go: the check
//
// Invariants:
//  1. An index is at one sequence of the feed: it has the winners as they were then. The commit of a batch reads and
//     writes that sequence, so that a batch counts once.
//  2. keyDocument has an entry for each document that is in the index, with its identity, which is alive in exactly one
//     segment or in the log; and one for each document that could not be indexed, whose reason is at keyError.
//  3. The log is in the order of its commits. A snapshot has it up to one place, and with the manifest that is all of
//     the index.
//  4. Documents of segments follow each other in the order of their identities, from segment to segment and on in the
//     log. A number of a segment is given once.
//  5. A purge takes documents that are gone out in its own transaction; a build that read them before leaves them out.
//  6. A document that cannot be indexed does not keep others from it.
//  7. A state serves every snapshot with its manifest: entries and kills after the snapshot's end of the log are not
//     seen.
package search
