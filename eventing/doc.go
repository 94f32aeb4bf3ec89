// Package eventing runs event functions: JavaScript that is called for every change of a database,
// with timers, queries and requests to other servers, and whose effects on documents are stored
// exactly once.
//
// Handlers run in worker processes of package js. The engine leaves these to other packages:
//
//	definition  what a function is
//	registry    where functions are kept, and their states
//	feed        the functions of a process read changes together
//	timers      timers as they are stored
//	schedule    the times of schedules
//	outbox      messages that wait to be delivered
//	alarm       when the next timer or message is due
//	sweeper     documents that expire
//	n1ql        statements in handlers
//	remote      requests to other servers
//	debug       debug sessions
//	nodes       the processes on the store
//
// # Map
//
//	engine.go     Engine: follows the registry, runs what is deployed
//	run.go        the job that leads a function from state to state; a deployed function in this process
//	lifecycle.go  OnDeploy and OnUndeploy
//	share.go      the partitions that are this process's: taken, kept, given up
//	compile.go    definition in, program out
//	function.go   a function that runs: its workers
//	rest.go       functions without work rest
//	firing.go     timers that are due
//	publish.go    what handlers publish is stored in the outbox
//	deliver.go    attempts to deliver messages of the outbox that are due
//	letters.go    what clients ask of the outbox and of dead letters
//	endpoint.go   requests of HTTP that OnRequest answers
//	schedules.go  timers of the setting schedules
//	reader.go     a function's events of a stream, handed to workers by partitions; what is done of them
//	worker.go     one batch after the other: handlers of the next while one is stored
//	process.go    batches of events or timers until they are stored: conflicts, refusals, retries, crashes
//	batch.go      one run of handlers: what they read and write; its commit
//	ends.go       functions that ran when processes ended without a shutdown
//	revision.go   which revision a write will make
//	owner.go      the rights that the owner of a function has now
//	holding.go    what the handlers of a batch hold in memory
//	speculation.go  handlers that run before the batch before them is stored: what they may see, when they are void
//	host.go, queries.go, statements.go, curl.go  what handlers get at: documents and timers, statements, other servers
//	deadletter.go what becomes of events whose handlers fail for good
//	keys.go, progress.go  what is stored of an instance
//	stats.go, report.go  what is counted, and how it is told
//	statsshare.go what other processes have counted
//	backlog.go    what nobody has read yet, as the store tells
//	trial.go      a handler is run on a document, and nothing is stored
//	rehearsal.go  Rehearsal: one function event by event, on a clock that is told to go on
//	debugger.go   debug sessions: an event is held back, its handler runs under the debugger (package debug)
//	debughost.go  what a handler under the debugger gets at, and what is noted of what it does
//	check.go      Check: verifies what is stored
//
// # Invariants
//
//  1. What the handlers of a batch write, their timers, and the checkpoint in the feed are one
//     transaction; it commits only if all that was read is still so (ADR 0030), and if the process
//     still has the partitions concerned (ADR 0031).
//  2. No transaction and no snapshot is open while JavaScript runs, but the reads of a query whose
//     rows are fetched.
//  3. The events of a document are processed in the order of its changes, one after another; between
//     documents of different partitions there is no order.
//  4. A function does with a database what its owner may now, and only with databases that are
//     bound to it.
//  5. All that is kept of an instance lies below one prefix, so that to undeploy is to clear one
//     range.
//  6. The memory of a function is bounded: chunks of the feed, two batches for each worker, its log;
//     and so are the chunks of all functions together, with the segments of streams for functions
//     that are behind. What handlers hold is taken from one budget before it is there (holding).
//  7. A handler that throws, takes too long or kills its worker process costs its event, and
//     nothing else.
//  8. A timer is stored twice, by the time that it is due and by its name, with the same nonce; the
//     pieces of its context are numbered without a gap.
//  9. An undeployed function has nothing stored below its instance.
//  10. An instance has a progress; neither it nor a partition has come further than the changes of
//     the source.
//  11. The pieces of a log are numbered without a gap, up to the number of the next one; there are
//     at most applog.Pieces.
//  12. The stored origin of a revision names an instance that there is or was.
//  13. Keys and values have the forms that keys.go, progress.go and packages feed, timers, outbox and
//     applog tell.
//  14. At most two batches of a worker's events, and two of its timers, are under way: one is being
//     stored while the handlers of the next one run. These have no effect before the first one is
//     stored, and see nothing that they could not see then.
//  15. A function gets the changes of a feed in their order and without a gap, and each was read after
//     the function had asked for the first one, whichever function has read it.
//  16. A function that rests has its partitions and nothing to do: no event, no timer or message that
//     is due soon.
//  17. A message is stored with the batch that publishes it. It waits, or is a dead letter, until a
//     transaction of the owner of its partition says otherwise (package outbox).
package eventing
