// Package shadow asks another server, a CouchDB, what clients have asked this one, and compares the
// answers. It is a middleware above the router: it sees requests and answers as they are on the
// wire, and knows nothing of handlers.
//
//   - shadow.go: [Shadow]: the middleware, its queues, metrics and log
//   - recorder.go: what is kept of a request and its answer while it is under way
//   - classify.go: which requests can be compared, and which are sent at all
//   - ids.go: ids that this server has made, put into what is sent
//   - answers.go: two answers compared
//
// Invariants:
//  1. A client never waits for the shadow, and gets this server's answer unchanged.
//  2. What is held for comparisons is at most maxHeld bytes and maxQueued requests for each worker;
//     what does not fit is dropped and counted, never waited for.
//  3. The shadow gets nothing but what clients have sent and this server has accepted or refused
//     itself: no request of the server's own, none that went wrong here.
//  4. Requests for a database reach the shadow one after the other, in the order in which they
//     ended here.
//  5. No header of a request, no body and no value of a document is logged.
package shadow
