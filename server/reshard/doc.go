// Package reshard keeps the jobs of _reshard and whether it may run, for all processes on a store and across restarts,
// as CouchDB does (mem3_reshard_store). Databases have no shards here: a job changes the map that clients see, and has
// completed when it is kept.
//
// # Keys, below storage.ReshardPrefix
//
//	()      why resharding is stopped, if it is
//	(id)    a job, as JSON
//
// # Map
//
//	jobs.go    Jobs: the state, adding, reading and removing jobs
//	check.go   Check: what is stored can be read
//
// # Invariants
//
//  1. A job is kept until it is removed; whoever reads jobs removes those whose database is gone.
//  2. Jobs are read in the order of their ids.
package reshard
