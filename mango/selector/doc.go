// Package selector holds the conditions of CouchDB's query language: selectors, which say whether a
// document passes, and lists of fields, which say what of it is shown. It knows no indexes and no
// store: package mango plans queries by the conditions that it finds here, and feeds and
// replications filter with them. The order of values it compares with is compat/collate's.
//
//   - selector.go: Selector, parsing and printing; condition.go: the tree of conditions
//   - operators.go: operators and their arguments (mango_selector:norm_ops/1)
//   - normalise.go: field names and negations pushed down to operators (norm_fields,
//     norm_negations)
//   - match.go, matchlists.go: whether a document passes (mango_selector:match/3); package pcre has
//     $regex
//   - path.go: field names with dots (mango_util:parse_field, mango_doc:get_field)
//   - fields.go: projection (mango_fields, mango_doc:set_field); wanted.go: looks for the fields in the
//     text of a document
//   - ranges.go: what a selector says of the values of a field (mango_idx_view:field_ranges/1);
//     required.go: which fields it needs, fixes and names;
//     conjunction.go: what it asks of single fields
//   - errors.go: what clients are told
//
// Invariants:
//  1. A Selector and a Fields are immutable after parsing, own their memory and may be used by
//     several goroutines.
//  2. ParseSelector35 of the text of a Selector gives the same Selector.
//  3. A field that is missing, or lies below a scalar, fails every condition, negated ones too; but for $exists:false
//     where the object that would have it is there.
//  4. A condition that cannot be tested is an error, except inside $elemMatch, $allMatch and $keyMapMatch, where it is
//     false.
//  5. Matching takes time linear in the document, but for patterns that need backtracking: those have bounds of time,
//     for a text and for a Selector, and are not in filters of indexes.
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
package selector
