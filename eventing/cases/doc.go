// Package cases runs the tests of event functions that stand in files beside them: documents and
// changes go in, and documents, timers, log and requests to other servers that come out are
// compared with what the file expects, and so are messages that are published. Functions run as they
// do in a server (eventing.Rehearsal), in a store of their own and on a clock of their own.
// docs/eventing.md is for users.
//
// # Map
//
//	file.go    a function with the file of its cases
//	run.go     Run: one case
//	expect.go  what came out against what is expected
//	answers.go the servers that a function makes requests to
//	store.go   the store of a case
//
// # Invariants
//
//  1. A case sees nothing of another one, of the machine's clock or of a network.
//  2. A file without a case fails, and a case that expects nothing.
//  3. What a handler throws fails its case, unless the case expects it.
package cases
