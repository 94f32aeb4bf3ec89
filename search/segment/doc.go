// Package segment has the data of a full-text index: analysed documents, and segments of them by
// number with their terms, in memory and in the blocks of a store. It knows no queries and no
// scores; those are package index's, which stands on the interface [Segment].
//
// A [Maker] makes a [Document] of the values that a function gave, by the rules of a [Kind]:
// Clouseau's, which `_search` and Mango's text indexes follow, or Nouveau's. Documents go into a
// [RAM], where they are found at once, or into a [Batch], which is only written; [Encode] makes one
// segment of blocks of any number of segments, and a [BlockSegment] reads it.
//
//   - document.go: Document, Field, Identity; record.go: their bytes; make.go: Maker, Kind;
//     norm.go: lengths as bytes
//   - segment.go: Segment and what it consists of; Run, the evaluation that reads it; Bitmap
//   - ram.go: RAM, a segment that grows; ramview.go: RAM as it was at one time; batch.go: Batch, a
//     segment in memory that is on its way into one of blocks
//   - encode.go, strings.go: Encode, segments as one of blocks; stream.go: its streams; blocks.go: BlockSegment,
//     which reads them; header.go: its fields; postings.go: its documents of a term; columns.go: its
//     norms and columns
//
// Invariants:
//  1. What a view of a segment answers does not change, whatever is added to the segment.
//  2. Documents of segments are in the order of their identities, and segments follow each other in
//     it.
//  3. A damaged record is ErrRecord, a damaged segment ErrSegment, never a panic; neither takes more
//     memory than it has bytes, times a constant.
package segment
