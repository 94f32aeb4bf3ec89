// Package kv is the store contract: what settee asks of an ordered, transactional key-value store,
// shaped after FoundationDB because the harder engine sets the rules.
//
// Map: kv.go the contract and its errors · keys.go successors of keys · walk.go reads over several
// snapshots · reserve.go the mark of transactions that free space, background.go of those that
// nobody waits for, waits.go of those of one request · race.go the pause after a lost race. tuple
// has the encoding of keys, wrapkv what can be put around any engine (checks of the contract,
// counts, limits), internal/txn what the embedded engines share. Engines: memkv (the reference
// model), pebblekv (embedded, the default), fdbkv (FoundationDB, build tag fdb), faultkv (injects
// faults into any engine), latencykv (a network in virtual time before any engine). kvtest holds
// the suite that each engine runs.
//
// Invariants:
//
//	K1 Keys are ordered by bytes. Range yields each key of [begin, end) exactly once, in order.
//	K2 Update is serialisable: committed transactions behave as if run one after another in versionstamp order.
//	K3 A transaction that Update reported as done is durable; one that it reported as failed left nothing, ever.
//	K4 Versionstamps grow from commit to commit, also across restarts; within one store no two commits share 10 bytes.
//	K5 Retry, back-off and unknown outcomes are the engine's business: callers write no retry loop.
//	K6 View reads one snapshot and never waits for writers; it sees only durable commits.
//
// The package must not know what is stored: no documents, no databases.
package kv
