// Package ejson reads and writes JSON as CouchDB does: members keep their order, integers have any
// size, 1 and 1.0 differ, and what is accepted and printed is what jiffy 2.0.2 (CouchDB's parser)
// accepts and prints, byte for byte.
//
// A text is parsed in one pass into a tape: one node for each value, holding offsets into the
// source. Nothing is copied or converted until it is asked for. A [Value] is a position on the
// tape.
//
//   - tape.go: nodes, Parser, the pool
//   - parse.go, scan.go, doubles.go, repair.go: the parser, members that come twice, broken UTF-8
//   - value.go, cursor.go: access to values
//   - print.go, strings.go, number.go: canonical text
//   - skip.go: members and elements of canonical text, without a tape
//   - term.go, term_value.go: Erlang's external term format
//   - size.go: couch_ejson_size
//
// Invariants:
//  1. A node spans its subtree: the nodes i .. i+span-1. Spans are relative, so a subtree can be
//     moved as it is.
//  2. An object's children are key, value, key, value, …; of members with equal names only the last
//     is on the tape.
//  3. A node is marked canonical only if its source bytes are exactly what AppendJSON prints for
//     it.
//  4. No function recurses over the depth of a text.
package ejson
