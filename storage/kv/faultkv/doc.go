// Package faultkv wraps any engine of the store contract and makes rare events happen: conflicts,
// commits whose outcome is unknown for a while, transactions that become too old or are too large,
// a full disk, latency. Tests of upper layers run on it, scripted or with seeded randomness.
//
// Map: plan.go what happens when · store.go the wrapper · disk.go another one, whose disk is as
// full as a test says.
//
// Invariants:
//
//	F1 Callers see nothing that the contract forbids: a function runs again only when its commit did not happen, and
//	   an error of Update means that nothing was stored.
//	F2 With a zero Plan the wrapper is transparent.
package faultkv
