// Package allfields is an index over every field of every document of a database (Mango's indexes
// of type "auto"). A query on any field reads a range of it, although nobody has made an index for
// that field.
//
// # Model
//
// A document is broken down into entries (path, value, position): one for each value at each path
// of member names. Values are the byte keys of compat/collate, so a range of values in Mango's
// order is a range of keys. Position 0 is a value outside arrays; the elements of an array have the
// path of the array and positions from 1, and so have the members of objects that are elements.
// Arrays and objects as a whole, and arrays in arrays, are entries too, truncated to a stub: a
// range that they fall into finds their documents, and the query looks into those. Long strings are
// truncated likewise.
//
// Below the database's TagMango (numbers are on disk):
//
//	(keyRegistry)                           the indexes of the database (registry.go)
//	(keyIndex, number, keyRows) path value position, id
//	                                        one entry: length of the value, and whether it was truncated (keys.go)
//	(keyIndex, number, keyCounts) path [element]
//	                                        documents that have the path, or elements there: 8 bytes, atomic
//	(keyIndex, number, keyTotals, total)    entries, bytes: 8 bytes, atomic
//	(keyIndex, number, keyReached)          id up to which the index is built, and how many documents these are
//	(keyIndex, number, keySamples, level) … the entries of one document in 32, in 1024, …, once more (sample.go)
//	(keyIndex, number, keyBuilt, id)        conflicts only: build and writers meet here (build.go)
//
// An index is defined by a design document of language "query" with a member
// {"auto":{NAME:{"exclude":["path", …],"depth":5,"max_values":5000}}}. The registry changes with
// the design document, in its transaction. The rows change with the documents, in theirs; an index
// that is added to a database with documents is built in the background, and is not used before it
// is complete.
//
// # File tour
//
//	entries.go    a document's entries
//	keys.go       keys and values
//	definition.go design documents
//	registry.go   the indexes of a database
//	hook.go       Indexes: the document's transaction, and that of a design document
//	update.go     what changed between two bodies is written
//	build.go      building in the background
//	rebuild.go    indexes of another version are built anew at the start
//	status.go     what there is to know of an index
//	scan.go       ranges, counts
//	scanranges.go many ranges in one walk
//	sample.go     samples of the entries, from which the planner estimates
//	distinct.go   the values of a path
//	check.go      the check of invariants 1, 3, 6 and 7
//
// # Invariants
//
//  1. An index that is ready has exactly the entries of the current revisions of all documents but
//     design documents.
//  2. Every document that could pass a [Range] is found by it: a range never misses one, and may find one that does not
//     pass.
//  3. The counters are the sums over the rows. Nothing reads them with a conflict, so writers of different documents do
//     not conflict with each other.
//  4. An update writes the entries that only one of the two bodies has.
//  5. An index is of one [Version]; one of another version is not used, and is built anew under
//     another number.
//  6. A document that is not broken down, one of the others, has a single entry, at the empty path, which every scan
//     finds. These are documents with more values than the definition allows, with longer ids than MaxID, with entries
//     that take more than a tenth of what a transaction of the store may, and those that a build could not index. The
//     entry says so, nothing else does: updates read it.
//  7. The entries of a level of samples are those of the documents whose ids' hash reaches it.
package allfields
