// Package index is the engine of full-text search: the evaluation of queries over segments of
// documents (package segment). It reads no store and knows no requests.
//
// An [Index] is segments one after the other, as they were at one time. [Index.Search] and
// [Index.Group] answer resolved queries of package search/query.
//
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
//  1. The same query on views of the same time has the same hits, scores and counts.
//  2. Scores are the same however documents are divided into segments. Documents that are not alive
//     count for them until they are merged away, as in Lucene.
//  3. Where two hits are equal the older one comes first.
//  4. The hits behind a hit are the ones that come after it in the order, whether it is still there
//     or not.
//  5. Totals and counts are exact.
//  6. No query runs on after its context has ended.
package index
