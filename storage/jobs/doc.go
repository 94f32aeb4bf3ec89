// Package jobs is a durable queue of background work in the store: index builds, replications,
// clean-up. Several processes on one store share it.
//
// A job is named by its type and an id, and there is one of each name at most: to add one that
// waits already changes nothing. A [Queue] runs the jobs of the types it has handlers for. While a
// handler runs, its job is leased: the queue renews the lease, and what a dead process held is
// queued again. Every run has a token of its own; a handler's transactions check it ([Run.Check]),
// so that a worker that lost its job without noticing cannot commit.
//
// # Keys, below the prefix of the queue
//
//	(keyJob, type, id)      record: state, token of the run, requests, data, result        record.go
//	(keyDue, type, delay, version, id)
//	                        how long a job waits to run, or a finished one to be forgotten, and the read version
//	                        of the transaction with which the wait began; the value is its end by the clock of who
//	                        wrote it
//	(keyLease, type, id)    lease of a running job: token, beat, how long it runs, progress   record.go
//	(keyNews, type)         versionstamp, set whenever a job of the type begins to wait
//
// # File tour
//
//	types.go           what callers see: Spec, Job, Ticket, Type, errors
//	record.go, keys.go codecs
//	change.go          the one place that writes a job's keys: from one state to the next
//	add.go, list.go    add, remove, wait for the end; look up, list
//	queue.go           a queue: open, handle a type, start, close
//	accept.go          a worker takes the next job
//	timeline.go        when a wait that another process began is over, by the own clock
//	do.go              a job that its caller runs
//	run.go, outcome.go a running job: token, progress, heartbeat; what becomes of it
//	sweep.go           jobs of dead workers
//	crashed.go         what their deaths mean for them; those that are paused, and how they go on
//	metrics.go         what a queue counts, for Prometheus
//	moved.go           jobs that were brought from another store
//	check.go           the check of the invariants
//
// # Invariants (Check and TestModel look at 1 to 4)
//
//  1. A waiting job has exactly one entry in keyDue, at its delay and version, and no lease.
//  2. A running job has a lease with the token of its record, and no entry in keyDue.
//  3. A finished job has no lease, and an entry in keyDue only if it is to be forgotten some day.
//  4. Nothing else is stored; a job's token is never used again, not even for a later job of the
//     same name.
//  5. The record changes when the state does, and not with heartbeats or progress: who watches it or checks the token
//     is not disturbed.
//  6. To accept a job reads at most acceptWindow entries of each delay, however many wait; delays are few: types use
//     constants. Adding one reads its record only and conflicts with nobody who deals with other jobs.
//  7. No time of one process's clock is compared with another's, so that clocks may differ by any amount: a lease
//     is dead when it was seen unchanged for Options.Lease, or when its process is gone (Options.Nodes): the token of
//     a run begins with that of its process. A wait has a length and begins when a process sees the store go past its
//     version (timeline). Only for what already waited when the queue was opened the stored end is believed, and the
//     whole length after the opening at the latest; so a restart prolongs no wait where clocks agree.
//  8. No waiting is by polling but for the sweep over the leases and a look at the store every two seconds by who waits
//     for a job, so that an outage is noticed. A queue that has the store to itself does without both.
//  9. The death of a worker is no failure of the job. A job that had run for provenAfter runs again at once. One that
//     loses its worker again and again before that may be what kills it: it waits from the third time on, for a second
//     and then twice as long each time up to five minutes. One whose type Pauses and whose worker
//     dies mostCrashes times in a row, each within wellAfter, is paused for pausedFor, says so as its error, and is run
//     once then; Resume lets it run before. One that is begun by Do is kept for so long after the death of its worker
//     and forgotten if nobody begins it again; one that was paused twice as long, so that it may run once. An end of a
//     run that the worker writes breaks the row. MaxFailures counts failures only: a build does not use up its attempts
//     by restarts of the server.
//  10. A full store (kv.ErrFull), or one whose servers are away (kv.ErrUnavailable), fails no job: those that meet
//     it wait, with that as their error, and run when there is space, or after a pause. What frees space (Type.Frees)
//     and what became of jobs is written out of the store's reserve.
package jobs
