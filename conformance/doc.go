// Package conformance holds the server to what a real Apache CouchDB answered: 3.5, and what
// becomes 3.6 (next-*).
//
// The scenarios in testdata are wire transcripts: HTTP requests together with CouchDB's own
// answers, byte for byte. The package replays them on a running server and gives each step a
// verdict (exact, json or differs). It talks to the server over HTTP only, as clients do; nothing
// of the server's packages is imported here.
//
// Tour:
//
//	scenario.go   the transcript format: files, scenarios, steps, recorded answers
//	members.go    JSON objects whose member order survives a round trip
//	run.go        performing the steps of one scenario: variables, saves, background requests, waiting
//	wire.go       one raw HTTP exchange, so that odd requests reach the server as they are written
//	pattern.go    the regular expressions of scenarios
//	normalize.go  the only list of what is volatile in an answer, and the verdict
//	jsonvalue.go  equality of JSON values
//	replay.go     replaying, recording and comparing a whole scenario
//	known.go      expected failures and scenarios that wait for a feature
//	target.go     the server under test: a child process on a chosen engine, or a URL
//	engine_fdb.go FoundationDB as an engine (build tag fdb, FDB_CLUSTER_FILE)
//	report.go     counts by file
//	processusage.go  memory, descriptors, CPU time of a process
//	hostile       a program that attacks a server with little memory (make hostile), a module of its own
//	cmd/transcripts  records, replays and compares from the command line
//
// The tests: conformance_test.go replays everything, wire_*_test.go have one test for each wire
// rule that real clients depend on (W1 …), kivik_*_test.go drive the server through the kivik
// client, crash*_test.go kill it under load, *_fdb_test.go have several servers on one FoundationDB
// cluster, which kills_fdb_test.go and outage_fdb_test.go start and kill themselves
// (SETTEE_FDB_BIN), hostile*_test.go and slow_test.go abuse it, contend_test.go and scale_test.go
// crowd it (SETTEE_SCALE=full: the promised numbers), guides_test.go runs the lines of the guides in
// docs, harness_test.go holds the replayer itself to its rules. All but the replay, the guides and
// the crashes share one server (shared_test.go); with COUCHDB_URL set they run on that one, so that
// the tests can be checked against the original.
//
// Invariants:
//
//  1. A scenario has no branches: it is data. What may differ between two runs is named in normalize.go or in the
//     step's own masks, nowhere else.
//  2. A step that does not agree (StepResult.Agrees) is an error unless known/differs.txt names it with a reason; a
//     step named there that agrees is an error too, so the list cannot rot.
//  3. A scenario is left out only if known/waiting.txt names it and what it waits for. Removing the line switches it
//     on.
//  4. Each scenario uses database names of its own, so scenarios run at the same time, on one server for each engine.
//     Files whose scenarios change the server itself (Isolated) get a fresh server and run one after the other; they
//     say little about engines, so that go test replays them on the first one only, and make conformance on all.
//  5. Recording changes nothing in a file but the "expect" members.
package conformance
