// Package applog keeps the log of each event function: what its handlers give to log(), their
// exceptions, and what the engine has to tell of it. It is in the store, so that it is one for all
// processes and survives them; lines of JSON, in pieces:
//
//	(Root, bucket, scope, name)      number of the next piece, 8 bytes little-endian
//	(Root, bucket, scope, name, n)   lines
//
// Handlers never wait for it: what comes faster than it is written is dropped and counted.
//
// # File tour
//
//	applog.go   lines that wait, and how they are written and read
//	check.go    Checker: verifies what is stored
//
// # Invariants
//
//  1. The numbers of a log's pieces have no gap, whichever processes write it.
//  2. A log has at most Pieces pieces; what waits to be written has at most logWaiting bytes.
package applog
