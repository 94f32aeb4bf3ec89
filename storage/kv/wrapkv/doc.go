// Package wrapkv has the stores that production code wraps around an engine. WithLimits holds callers to an engine's
// hard limits: `settee serve --limits` tries a deployment's limits on another engine with it. Slow reports transactions
// that wait for the store. Throttled bounds how many bytes are read a second. GateReads makes reads fail. Wrappers that
// only tests use are in kvtest.
//
// Map: limits.go · slow.go · throttle.go · gate.go · foresight.go lets reads of a kind read their first keys together ·
// recall.go begins a transaction with what a key held the last time, which is confirmed beside its own reads; both are
// for engines across a network.
//
// Invariant: a wrapped store passes kvtest's suite as the store within does.
package wrapkv
