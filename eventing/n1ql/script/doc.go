// Package script finds the statements of N1QL that stand in JavaScript, and replaces each by a call of
// couchbase.n1qlQuery with its text and the values of the variables in it.
//
//   - transpile.go: Script, Transpile
//   - recognise.go: where a statement begins
//   - scan.go, scantoken.go: JavaScript by tokens
//
// Invariants:
//  1. Code without keywords of N1QL is its own transpilation; code with statements keeps its lines.
//  2. Values of variables are bound to parameters, never written into a statement's text.
package script
