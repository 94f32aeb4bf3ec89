// Package replicator serves replications: _replicate and _scheduler. It runs the scheduler of
// package replication.
//
//	replications.go   the scheduler with the databases of this server as ends, and the job that follows documents
//	sharing.go        which node runs which replication
//	settings.go       the section replicator
//	roots.go          the authorities that the machine trusts
//	replicate.go      _replicate
//	scheduler.go      _scheduler
//	gather.go         what other nodes tell for it
//	routes.go         the rows of the route table
package replicator
