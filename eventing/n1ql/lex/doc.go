// Package lex has the tokens of N1QL's statements, and where they stand in the code around them.
//
//   - lex.go: Lexer, Token: a statement by tokens, which may have JavaScript before and behind it
//   - blanks.go: blanks, comments and words, which are JavaScript's
//   - errors.go: Lines finds lines and columns; Fault, SyntaxError: what is wrong, and where
//
// Invariants:
//  1. No text is an error of the lexer's caller: what is no token is a token of kind Bad that takes the rest.
//  2. A lexer is a value: a copy looks ahead without moving the other.
package lex
