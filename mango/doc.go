// Package mango holds CouchDB's query language: selectors, which say whether a document passes, and
// lists of fields, which say what of it is shown. The order of values it compares with is
// compat/collate's.
//
//   - selector.go: Selector, parsing and printing; condition.go: the tree of conditions
//   - operators.go: operators and their arguments (mango_selector:norm_ops/1)
//   - normalise.go: field names and negations pushed down to operators (norm_fields,
//     norm_negations)
//   - match.go, matchlists.go: whether a document passes (mango_selector:match/3); package pcre has
//     $regex
//   - path.go: field names with dots (mango_util:parse_field, mango_doc:get_field)
//   - fields.go: projection (mango_fields, mango_doc:set_field)
//   - request.go, options.go, sort.go: the request of a query (mango_opts)
//   - index.go, catalogue.go, definition.go: indexes and how design documents hold them (mango_idx,
//     mango_idx_view)
//   - mapper.go: the rows of an index; rule.go: selectors as validate_doc_update
//     (mango_native_proc)
//   - usable.go, ranges.go, plan.go: the choice of an index (mango_cursor, mango_cursor_view); explain.go: what is said
//     of it
//   - allfields.go, rangeset.go: indexes over all fields, and the sets of ranges that a selector
//     asks of them
//   - optimize.go, cardinality.go: the choice between all access paths where there is such an index, by what each would
//     read
//   - textindex.go: indexes of full-text search; textmap.go: their fields; texttree.go, textquery.go: what they
//     are asked for a selector; readtext.go: a query of one
//   - find.go: a query at work; readdocs.go, parallelscan.go: the documents by id; readview.go: a JSON index;
//     readentries.go: the entries of an index over all fields; readsorted.go: the same in the order of a
//     sort; collect.go: what an access path finds, sorted; count.go: how many there are
//   - pick.go: the members of a document that are asked for; bookmark.go, stats.go: what follows
//     the documents
//   - distinct.go: the values of a field; values.go: what package aggregate computes with
//   - errors.go: what clients are told
//
// Invariants:
//  1. A Selector and a Fields are immutable after parsing, own their memory and may be used by
//     several goroutines.
//  2. Parsing the text of a Selector gives the same Selector.
//  3. A field that is missing, or lies below a scalar, fails every condition, negated ones too; but for $exists:false
//     where the object that would have it is there.
//  4. A condition that cannot be tested is an error, except inside $elemMatch, $allMatch and $keyMapMatch, where it is
//     false.
//  5. Matching takes time linear in the document, but for patterns that need backtracking: those have bounds of time,
//     for a text and for a Selector, and are not in filters of indexes.
//  6. A query has the same documents in the same order whatever reads them: the index, or the documents while it is
//     being built. The bookmark holds the order; with a sort or a JSON index every access path gives it, without them
//     it is that of the entries that are read.
//  7. A document that passes and stays as it is comes exactly once on the pages of a query, and in a query over several
//     snapshots.
//  8. A picker passes over members that nothing looks at: a selector sees no difference between a document and what was
//     picked.
//
// Differences to CouchDB:
//   - Patterns are RE2's (package regexp) over bytes, as PCRE without its Unicode mode. What RE2 refuses, look-around,
//     back references, atomic groups, possessive quantifiers, conditions and counts above 1000, and what has more
//     behind a `$` that is not the end of a line, goes to a backtracking engine (regexp2);
//     recursion and subroutines are refused as patterns that do not compile, and so are patterns whose programs would
//     be large (compat/patterns), alone or all of a selector together. Bytes of UTF-8 count as characters of Latin-1;
//     \w, \s, \h, \Z, \e, \N and \R and a `$` before the last line feed are PCRE's, while \b and POSIX classes know
//     ASCII only.
//   - A list of fields that names a member below another one it names, ["a", "a.0"], shows the outer one as it is;
//     CouchDB fails or puts elements in wrong places.
//   - Selectors are refused beyond maxDepth levels.
package mango
