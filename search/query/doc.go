// Package query reads the two query languages of full-text search and says what they mean. It knows
// no index: a query is text in, a tree of [Node] out.
//
//   - [Classic] is Lucene 4's language, which `_search` and Mango's text indexes take, with
//     Clouseau's numbers
//   - [Flexible] is the standard syntax of Lucene 9, which `_nouveau` takes
//
// [Parse] makes a tree of what is written: texts as they stand, clauses with their conjunctions and
// signs. [Resolve] makes of it the tree that is evaluated: texts become
// terms and phrases by the analyzer of their field, numbers become ranges of numbers, clauses are
// required, optional or prohibited.
//
//   - ast.go: Node and its types; which of them Parse makes and which Resolve
//   - lex.go: tokens, what both languages share; lexclassic.go, lexflexible.go: their tokens
//   - parser.go: Parse, errors, bounds; parseclassic.go, parseflexible.go: the grammars
//   - escape.go: backslashes; number.go: Java's numbers, numbers of a locale
//   - interval.go: functions of intervals, fn: of the flexible language
//   - resolve.go: Resolve, Schema; occur.go: which clauses are required
//
// The lexers take the longest token, and of equally long ones the first, as the generated lexers of
// Lucene do; what looks odd here is what those do (a `- ` with a space is a term; `"a\\" TO "b"` in
// a range is one bound).
//
// Invariants:
//  1. No input panics, and none recurses deeper than MaxDepth; a query has at most MaxLength bytes, a group MaxClauses
//     clauses, all of it maxNodes nodes and maxTerms terms.
//  2. Parse loses nothing: Print of print_test.go writes every tree that Parse made so that Parse makes the same of it,
//     in the language that it was made in.
//  3. Every error is an *Error, and its text is an answer to the client.
//  4. A tree is not changed once it is made; several goroutines may use it.
package query
