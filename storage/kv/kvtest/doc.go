// Package kvtest is the suite that each engine of the store contract passes, alone and inside the
// wrappers, and the wrappers that only tests use: Checked reports callers and engines that break
// the contract, Counting counts what operations cost.
//
// Map: run.go the list of tests and their helpers · order.go, writes.go, iterators.go reading and
// writing in one transaction · conflicts.go what conflicts with what · isolation.go anomalies under
// concurrency · atomic.go · stamps.go versionstamps · watches.go · lifecycle.go errors, contexts,
// closing, limits · metamorphic.go, history.go one random history on the reference model and on the
// engine · endings.go attempts that an engine may end · linear.go linearizability of concurrent
// histories · long.go which tests run without the race detector · checked.go, checkediterator.go,
// checkedwriter.go are Checked · count.go Counting.
//
// Invariants:
//
//	V1 A test holds on every engine: it asks for what the contract promises, not for what an engine happens to do.
//	V2 Transactions are interleaved by running one inside the function of another, so that their
//	   order does not depend on timing.
//	V3 Randomness comes from one seed, which a failure prints and KVTEST_SEED sets.
//	V4 Checked and Counting pass the suite as the store within does. Checked reports a misuse and does no harm:
//	   nothing panics for it that would not panic without the wrapper.
package kvtest
