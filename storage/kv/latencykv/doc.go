// Package latencykv wraps any engine of the store contract and makes it behave as FoundationDB does
// across a network, in virtual time: nothing sleeps, so that tests of slow stores are fast and
// repeatable. Each transaction has a clock of its own that a round trip moves by 3 ms; one that is
// older than five seconds gets kv.ErrTooOld; sizes are limited as FoundationDB limits them. Calls
// are counted, so that a test can hold a request to a budget of round trips. A function may be set
// that runs before each commit, as a second writer that comes in between.
//
// Map: store.go the wrapper and its counts · transaction.go the clock of a transaction and what its
// reads cost.
//
// Invariants:
//
//	L1 Callers see nothing that the contract forbids, and nothing that a store across a network would not do.
//	L2 Reads that were asked for together cost one round trip: the keys of a GetMany, and ranges opened before the
//	   first of them is read. Each further piece of a range costs another one; pieces are as large as FoundationDB
//	   sends them.
//	L3 The time of one transaction does not pass for another, except what Elapse adds.
package latencykv
