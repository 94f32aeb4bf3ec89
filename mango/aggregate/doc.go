// Package aggregate computes with documents: it puts those that pass a selector into groups by the
// values of fields, and counts and adds up within each group. CouchDB has nothing like it.
//
// # Map
//
//	request.go      what is asked: fields, values, order, page
//	group.go        the group of a document: values, prefixes of text, floors of numbers
//	accumulate.go   what is computed for a group, value by value
//	numbers.go      sums and statistics
//	table.go        all groups of an answer in memory, with its bounds; their order and pages
//	plan.go         the choice between the plans, and what _explain says of it
//	run.go          a request at work
//	entries.go      the same by the entries of an index over all fields
//	bookmark.go     where the next page begins
//
// # Plans
//
// All give the same answer; the first that can is taken.
//
//   - counted: a JSON index whose columns are the fields that the selector wants to equal a value,
//     and then the fields of the groups, is asked for the number of its rows at each value, which it
//     has without reading rows. Only $count can be had so, and what has no group must be known: the
//     selector wants the fields of the groups to exist, or it wants nothing.
//   - summed: the same with the values that an index has above its rows (mango.Index.Values): $sum,
//     $avg, $stats, and $min and $max where all values are numbers.
//   - ordered: a JSON index gives the documents in the order of the groups, so that one group at a
//     time is in memory. The selector wants the fields of the groups to exist.
//   - entries: an index over all fields is asked how many documents have each value of a field. Only
//     $count can be had so, by that field or of all groups together, where the selector asks nothing
//     of others; and only while the index has all documents.
//   - hashed: the documents that the query's own plan finds, in any order, and all groups in memory.
//
// # Invariants
//
//  1. Two documents are in one group if and only if the values of the fields are equal in CouchDB's
//     order of values (compat/collate), each after its prefix or floor.
//  2. A document that lacks a field of the groups, or has one that no prefix or floor can be taken
//     of, counts in Answer.Ungrouped and nowhere else.
//  3. What a request keeps is bounded before it is taken: maxGroups groups, maxKept bytes, and what
//     mango.Source.Keep grants.
//  4. The order of groups is total, and a bookmark holds all of a group's place in it: no page has
//     a group twice, and none is left out, if the documents stay as they are.
package aggregate
