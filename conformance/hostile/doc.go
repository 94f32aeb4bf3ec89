// Command hostile attacks a server with little memory and measures what becomes of an innocent
// client meanwhile.
//
//	go run . [-attack REGEXP] [-memory 512MB] [-scale 1]
//	    each attack alone, a row of a table each
//	go run . -duration 1h -memory 1GB
//	    all attacks together, in a random mix
//	go run . -url http://admin:password@host:port [-pid N]
//	    another server, such as a CouchDB
//
// It is a module of its own, since no server runs it; its own folder is where it is started. It
// starts a server in a control group of that size, where it may, else with [settee] memory below
// it. The innocent client is a user of its own that reads a document over a kept connection, and
// another that writes into another database, every 20 ms. At the end the server must be the process
// that was started, have given back its memory, goroutines and descriptors, have every write that
// it acknowledged, to innocents and attackers, and pass `settee check`.
//
// Map:
//
//   - main.go: flags; run.go: each attack alone; mix.go: all together; report.go: rows and the table; verdict.go: what
//     is asked of a run
//   - attack.go: what an attack is, the list of all; assault.go: what one has at hand while it runs
//   - request.go: requests and their bodies, made as they are sent; written.go: acknowledged writes
//   - target.go: the server under attack; cgroup.go: its control group; log.go: its output
//   - innocent.go: the innocent client; meter.go: memory, goroutines, descriptors
//   - against*.go: the attacks, one subject a file; immutable_linux.go, immutable_other.go: directories that take no
//     file
//
// Invariants:
//  1. Nothing of the server's packages is imported: attacks come over the network.
//  2. An attack that leaves nothing wrong returns nil, whatever statuses it saw; how it may fail is a status that it
//     does not expect, or what the program sees from outside.
//  3. Attackers have accounts and databases of their own, and an address of their own where the machine has more than
//     one of loopback.
//  4. `go test` runs the attacks that have a scale for it: there only what cannot depend on the
//     machine's speed fails.
package main
