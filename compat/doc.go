// Package compat holds the rules of CouchDB's wire that need neither a store nor a socket: what a
// document, a revision, a name, a sequence and an error look like. Every layer above the store uses
// it; it does no I/O and starts no goroutine.
//
//   - errors.go, thrown.go: [Error], the one error value with a wire meaning, and the table Kind ->
//     status and word
//   - rev.go, revhash.go: [Rev] and CouchDB's deterministic revision ids
//   - document.go, parsedoc.go, attachment.go: [Document] as it comes from the wire
//   - render.go: [DocumentView], a document as it goes to the wire
//   - names.go: names of databases, documents, partitions, attachments
//   - seq.go: sequences, `N-opaque`
//   - path.go, query.go, range.go, mediatype.go: how URLs and headers are written; server/params has what
//     options mean
//   - multipart: bodies in parts
//   - security.go, uuid.go, network.go, origin.go, erlang.go, dict.go: one rule each, named by the
//     file
//   - rawterm.go: Erlang terms in the form of ~w
//   - ejson: ordered JSON, parsed, printed and turned into Erlang terms as CouchDB does it
//   - zgzip: gzip streams with zlib's own bytes
//
// Invariants:
//  1. The same edit gives the same revision id as CouchDB 3.5 (NewRev).
//  2. Body.JSON is canonical: it is what CouchDB would print for the same input, so it can be sent without being
//     parsed.
//  3. Status, `error` word and reason of an answer come from an Error; nothing else maps errors to
//     the wire.
//  4. Values are immutable after they have been returned and can be shared between goroutines, unless a comment says
//     otherwise.
package compat
