// Package js runs the JavaScript of design documents in worker processes, so that it can neither
// stop nor starve nor exhaust the server.
//
// A worker is the same binary started again (RunWorkerIfAsked), with a bound on its memory that the
// kernel keeps, without files, environment or any way out but two pipes. goja executes the
// functions there. The server's side is a Pool: it starts workers when there is work, kills those
// that exceed their time, and gives each tenant its share of them.
//
// # Files
//
// The server's side:
//
//   - pool.go gives a call a worker; process.go is a worker as the server sees it; call.go makes one call; metrics.go
//     counts calls
//   - package js/confine starts a worker and takes its privileges
//   - wire.go has the frames and payloads between the two; commands.go lists the commands, each of which has a file for
//     either side: map.go, mapeach.go (which documents end workers) and map_worker.go; index.go,
//     index_worker.go and index.js for functions of search indexes; reduce.go and reduce_worker.go; design.go and
//     design_worker.go with design.js; list.go and list_worker.go; validate.go and validate_worker.go
//
// Event functions (eventing) have event*.go:
//
//   - event.go has programs, events and results for the caller; event_host.go answers what handlers ask the host;
//     event_check.go compiles a program without running it; event_wire.go encodes what crosses
//   - in the worker, event_source.go says what code may be; event_realm.go with event.js, event_subdoc.js and
//     event_services.js makes the realm; event_worker.go and event_clock.go run batches; event_partial.go passes only
//     those members of a document that a handler reads, while package js/stringify tells what the others print;
//     event_store.go holds writes that are not committed; event_parts.go does operations on parts of documents;
//     event_debugger.go joins a handler with package js/inspect, the debugger of a function;
//     event_alias.go has the objects that stand for databases, event_natives.go the other functions that the realm gets
//     from Go, event_ask.go their questions to the host
//
// The worker's side (worker.go):
//
//   - package js/script makes programs of sources; language.go says in which language one is
//   - sandbox.go and prelude.js make the realm that a function sees, with what package js/locale knows of languages and
//     dates; realms.go keeps those of map and reduce functions
//   - values.go takes JSON in and out, plain.go the simple values
//   - translate.go and thrown.go give goja's errors CouchDB's form
//
// # Invariants
//
//  1. A process runs one call at a time. A call that breaks off (time, memory, crash, the caller's end) kills its
//     process; its call gets os_process_error, no other call notices. Where the system ends a worker for want of memory
//     the call is made once more, unless what it gave was used already; a second time it is 503. A document that is
//     nested deeper than JavaScript bears has no rows, passes no filter and no validation; others do not suffer. Nor do
//     they from one that ends the worker of an index (MapEach).
//  2. The time of a call starts anew with each frame of the worker but logs; a worker sends one at least every 250 ms
//     between documents, so the bound is for one document or one function call, as os_process_timeout is in CouchDB.
//  3. A tenant holds at most Options.PerTenant workers, one if a call of it was killed lately, so that others find one
//     free. Builds of indexes and tenants that have used workers for long leave one worker to all others, builds leave
//     another one to calls that somebody waits for, and no caller maps for longer than half a second before others have
//     had their turn.
//  4. A sandbox (realm) belongs to one function of one database, and lives as long as the worker keeps it; that of a
//     map or reduce function is dropped when a call fails. Programs, which hold no state, are shared by all.
//  5. Sources cross once: workers keep them under their digest and ask if they have not got one.
//     Caches are bounded.
//  6. What a worker sends is not trusted: frames and results have a largest size, payloads are
//     checked while decoding.
//  7. A worker has given up all that js/confine takes before it reads what it runs; what the system does not let it
//     give up is told (Options.Confined), or refused (confine.Required).
//  8. The texts of answers are CouchDB's: sources are read as there (js/script), errors of goja have CouchDB's form and
//     a few of its texts. docs/compatibility.md lists what differs.
//  9. The time of an invocation of an event handler holds whatever the host does for it meanwhile: only results
//     start it anew. JavaScript is interrupted when it is over, and the batch goes on; a built-in function of goja that
//     cannot be is killed a second later. Nothing passes from one invocation to another but what the host knows of:
//     what a realm keeps is frozen, built-in functions included, or looked at. Realms are dropped after a timeout or a
//     full stack, and after 4096 invocations, of which an exception counts 16.
package js
