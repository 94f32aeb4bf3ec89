// Package logins has processes on one store tell each other of failed logins, so that a lockout of
// one is one of all.
//
// # Keys, below storage.LoginsPrefix
//
//	()             counts failures, 8 bytes little-endian; what is watched
//	(stamp)        a failure, in the order of commits: 16 bytes of the process that tells it, 32 bytes that stand for
//	               address, name and password's salt
//
// # Map
//
//	log.go     Log: tells failures, follows those of others, removes what is old
//	check.go   Check: what is stored can be read
//
// # Invariants
//
//  1. A failure is told to Follow's function once in each process, but not in the one that told it.
//     A process that starts is told of those that are stored.
//  2. A row goes when some process has known it for a lifetime of its own clock: no clocks are
//     compared.
//  3. Nothing of a login waits for the store: without it each process counts its own failures.
package logins
