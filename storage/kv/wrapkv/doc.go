// Package wrapkv has stores around any engine of kv: Checked reports callers and engines that break the contract,
// Counting counts what operations cost, WithLimits holds callers to an engine's hard limits, GateReads makes reads
// fail. Tests use them all; `settee serve --limits` uses WithLimits to try a deployment's limits on another engine.
// Throttled bounds how much is read a second. Slow tells of transactions that wait for the store. Foresight is for
// engines across a network: it has the keys that reads begin with read together.
//
// Map: check.go, checkiterator.go, checkwriter.go are Checked · count.go · limits.go · gate.go · throttle.go ·
// slow.go · foresight.go.
//
// Invariants:
//
//	W1 A wrapped store passes kvtest's suite as the store within does.
//	W2 A misuse is reported and does no harm: nothing panics for it that would not panic without the wrapper.
//
// Recall (recall.go) is for engines across a network, as Foresight is: a transaction begins with what a key held the
// last time, which is confirmed beside its own reads.
package wrapkv
