// Package rewrite applies the rewrite rules of a design document to a request: pure text, no I/O.
//
//   - rule.go: rules as they stand in the design document
//   - match.go: the first rule that fits, and the path and query it leads to
//   - value.go: values of the new query: texts, JSON, and what Erlang makes of both
//   - path.go: from a relative target to the path of a request
//
// Invariants:
//
//  1. A target's dots never lead above the root, and what it leads to is a request like any other: who may make it is
//     decided anew.
//  2. With secure rewrites one rule with more than two ".." refuses every request of its design document. What
//     variables stand for may hold dots, too, and functions answer any path: Within reports whether one has left the
//     database.
//  3. No target is longer than MaxTarget, and none is built that would be.
package rewrite
