// Package definition is what an event function is, before anything runs: its definition as clients
// send and get it, the rules that a definition has to follow, the states that a function passes,
// and the errors that clients are told. The forms are those of Couchbase Eventing, so that its
// tools and exports work; docs/eventing.md has the differences.
//
// # Map
//
//	function.go    a function, parsed and printed
//	bindings.go    what a function may use: databases, URLs, constants
//	secrets.go     passwords of URL bindings, which never come back
//	settings.go    the table of settings, read, merged and printed by it
//	unknown.go     members that were sent and that nothing here has
//	names.go       names of functions and aliases; reserved.go: words that an alias must not be
//	change.go      what of a function may change in which state
//	state.go       states, operations, transitions
//	cycles.go      functions that would trigger each other without end
//	config.go      what holds for all functions of a server
//	report.go      what an engine tells of a function: its compilation, its statistics
//	codes.go       errors by their numbers
//
// # Invariants
//
//  1. Nothing here does I/O, keeps a clock or starts a goroutine.
//  2. What Parse accepts and Validate passes is printed so that it parses to the same function
//     again, but for secrets.
//  3. A function that was given out is not changed: who changes one changes a Clone.
//  4. Every error is an *Error; the table of codes.go is the only place that knows statuses and
//     names.
package definition
