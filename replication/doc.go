// Package replication copies changes from one database to another by CouchDB's protocol: with other
// servers over HTTP, and between databases of this one without it. It runs the replications of POST
// /_replicate and those that documents of replicator databases ask for.
//
//   - settings.go: [Settings], what the configuration says; counters.go: [Counters], what is
//     counted
//   - spec.go, options.go, url.go: [Spec], a replication as it is asked for, and what is wrong with
//     one
//   - id.go, term.go: CouchDB's replication ids, and Erlang terms in messages
//   - peer.go: [Peer], one end of a replication; the server implements it for its own databases
//   - trust.go: whom the connections of an [HTTPPeer] trust
//   - http.go, httpdb.go, httpdocs.go: [HTTPPeer]; cookiesession.go, watchdog.go: its login, its
//     patience and its pace
//   - guard.go: [Guard], the networks it may connect to
//   - jsonstream.go: answers of any length, element by element; room.go: the memory that they take
//   - session.go: [Session], one run of a replication: reader.go takes changes, batch.go makes batches of them,
//     worker.go copies a batch
//   - connectto.go: [Routes], where requests for some hosts go instead
//   - checkpoint.go, stats.go, seq.go: where a session begins and what it leaves behind
//   - scheduler.go, job.go: [Scheduler], which runs many jobs in turns
//   - documents.go, docfields.go, watcher.go: jobs of documents, and the states written into them
//   - list.go: jobs and documents as /_scheduler and _active_tasks show them
//   - failure.go: [Failure], errors in the form CouchDB shows them
//
// Invariants:
//  1. A checkpoint names a sequence only after everything up to it was acknowledged by the target, or refused for good.
//     A session that is killed at any point copies again what came after its last checkpoint, which changes nothing
//     twice.
//  2. Ids and contents of checkpoints are CouchDB's: either server goes on where the other has
//     stopped.
//  3. What a peer sends is never held whole, but for one document without its attachments, or one row; what
//     all replications hold of it comes out of Settings.Memory. What it does not send is waited for no
//     longer than connection_timeout. Retries, redirects and pauses are bounded.
//  4. No connection is made to an address that the Guard refuses, whatever name or redirect leads
//     there.
//  5. Credentials go to the host they were given for, and are in no error, list or log.
//  6. A job runs at most once at a time; one that is replaced or removed has ended before its
//     successor begins.
//  7. Documents are passed on as their source wrote them; nothing of their JSON is interpreted but
//     _attachments.
package replication
