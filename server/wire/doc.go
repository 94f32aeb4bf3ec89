// Package wire makes net/http speak the HTTP dialect of CouchDB's server (MochiWeb) where net/http
// answers on its own, before any handler runs, or writes what a handler cannot choose.
//
// Map: conn.go wraps a connection · head.go looks at the head of a request before net/http parses
// it · after.go follows what comes after it · tls.go shakes hands, so that all this holds inside of
// TLS · linger.go ends connections whose requests were answered before they were there.
//
// What differs, and how it is done:
//
//  1. A percent sign that begins no escape makes net/http refuse the request. The sign is replaced, in place, in the
//     request line, and BadTarget tells the handler.
//
//  2. An Expect header other than 100-continue makes net/http answer 417. CouchDB ignores it: the name is spoilt in
//     place.
//
//  3. What net/http refuses by itself it answers with a text; MochiWeb answers 400 with an empty body. Only what is
//     written before a handler has begun is replaced: an attachment may hold the same text.
//
//  4. The reason phrase of 404 is Erlang's, "Object Not Found".
//
//  5. A request whose body has both a length and chunks is reported, so that the connection ends with its answer; so is
//     a chunked one with lines of its head read together with the request before it (a pipeline).
//
// Invariants: framing is net/http's alone: bytes are overwritten, never added or removed, and only
// while the connection waits for the head of a request (as net/http's own connection states say),
// and only before the empty line that ends the head, however reads cut it.
package wire
