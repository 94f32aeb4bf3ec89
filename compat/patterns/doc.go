// Package patterns compiles regular expressions that users send, within bounds of memory and time
// that are known before either is taken. {n} may stand in {n}: twenty bytes can ask for a gigabyte.
//
//   - patterns.go: Budget, what patterns may take together; Pattern, a compiled one
//   - size.go: Instructions, how large a program becomes
//
// Invariants:
//  1. Nothing is compiled whose program, by Instructions, is larger than what is left of the Budget. Instructions is
//     never below what package regexp makes, and at most four times as much.
//  2. Parsing takes memory linear in the text: sets of Unicode's, which are large, are counted
//     before.
//  3. A match takes at most maxSteps times what one step takes; what would take longer does not match. This depends on
//     the pattern and the text only, so that an index may hold what matches.
package patterns
