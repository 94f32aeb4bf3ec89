// Package index is the engine of full-text search: what an index keeps of a document, segments of
// documents, and the evaluation of queries over them. It reads no store and knows no requests.
//
// A [Maker] makes a [Document] of the values that a function gave, by the rules of a [Kind]:
// Clouseau's, which `_search` and Mango's text indexes follow, or Nouveau's. A [Segment] is
// documents by number with their terms; an [Index] is segments one after the other, as they were at
// one time. [Index.Search] and [Index.Group] answer resolved queries of package search/query.
//
//   - document.go: Document, Field, Identity; record.go: their bytes; make.go: Maker, Kind;
//     norm.go: lengths as bytes
//   - segment.go: Segment and what it consists of, Run, Bitmap
//   - ram.go: RAM, a segment that grows; ramview.go: RAM as it was at one time; batch.go: Batch, a segment in memory
//     that is on its way into one of blocks
//   - encode.go: Encode, segments as one of blocks; stream.go: its streams; blocks.go: BlockSegment, which reads
//     them; header.go: its fields; postings.go: its documents of a term; columns.go: its norms and columns
//   - weight.go: what parts of a query need besides a document: terms, phrases, fuzzy words; bool.go: clauses;
//     filter.go: parts with one score, such as ranges and patterns; numberterms.go: numbers as terms; similarity.go:
//     scores
//   - frequent.go: Frequent, the documents of a frequent term or phrase as a set, which a Keeper keeps between queries;
//     together.go: documents counted as sets, and scored where bounds say that they may be among the first ones
//   - iterator.go: documents one by one: AND, OR by windows, sets; phrase.go: phrases; interval.go: functions of
//     intervals
//   - automaton.go: patterns over a dictionary; regexp.go: wildcards and Lucene's regular
//     expressions
//   - search.go: Index, Search, pages, drilldown; sort.go: orders of hits; facet.go: counts;
//     group.go: groups
//   - highlight.go: marked fragments of stored texts; suggest.go: terms that begin with a text or
//     are near to it
//
// What a search costs: memory for the hits that are answered, a set of the documents of each
// pattern or range of texts (128 MB at most), 40,000 states of automata at most; time until its
// context ends, looked at every 4,096 postings.
//
// Invariants:
//  1. What a view of a segment answers does not change, whatever is added to the segment: the same query has the same
//     hits, scores and counts.
//  2. Scores are the same however documents are divided into segments. Documents that are not alive count for them
//     until they are merged away, as in Lucene.
//  3. Documents of segments are in the order of their identities, and segments follow each other in it. Where two hits
//     are equal the older one comes first.
//  4. The hits behind a hit are the ones that come after it in the order, whether it is still there
//     or not.
//  5. Totals and counts are exact.
//  6. No query runs on after its context has ended.
//  7. A damaged record is ErrRecord, a damaged segment ErrSegment, never a panic; neither takes more memory than it has
//     bytes, times a constant.
package index
