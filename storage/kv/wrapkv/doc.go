// Package wrapkv has the stores that production code wraps around an engine. WithLimits holds
// callers to an engine's hard limits: `settee serve --limits` tries a deployment's limits on
// another engine with it. Slow reports transactions that wait for the store, Traced makes spans of
// them. Throttled bounds how many bytes are read a second. GateReads makes reads fail. Wrappers
// that only tests use are in kvtest. Prefetching saves waits on engines across a network: it reads
// together what reads of a kind begin with, and lets transactions begin with what a key held the
// last time.
//
// Map: limits.go · slow.go · throttle.go · gate.go · prefetch.go · traced.go.
//
// Invariant: a wrapped store passes kvtest's suite as the store within does.
package wrapkv
