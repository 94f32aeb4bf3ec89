// Package call is a request of CouchDB's protocol from its first byte to the last of its answer:
// what all handlers have in common.
//
// # The way of a request
//
// Env.Serve makes a Call (call.go), which is a Head (what is asked, and by whom), a Body and an
// Answer, and runs it through the chain (chain.go): counting and the log, errors, limits of the
// head, virtual hosts (vhost.go), path and query, options, preflights (cors.go), authentication
// (access.go). Then its route is found (route.go: what a row says; router.go: the tree), the
// route's access rule applied (access.go), a change that a page of another site makes refused
// (crosssite.go) and its handler run, which belongs to the package of a resource. Answers leave
// through respond.go (whole bodies, errors), stream.go (lists, feeds) and sized.go (attachments),
// which share headers.go and outgoing.go; bodies come in through request.go and requestbody.go.
// reroute.go puts another request in the place of this one.
//
//	env.go               what all handlers of a server share
//	settings.go          the configuration, parsed
//	forusers.go          rows that do not answer who sees only some of the documents
//	peer.go              which address a client counts as
//	functionrequest.go   the request as functions of design documents see it
//	maintenancemode.go   a server out of service
//	frameoptions.go      who may show answers in a frame
//	accesslog.go, statscount.go, trace.go   what is logged, counted and traced of a request
//
// # Invariants
//
//  1. Every answer goes through StartHeaders, every error through fail.
//  2. Nothing of a stream is sent before its buffer is full or flushed, so that early errors are
//     ordinary answers.
//  3. A Call is used by one goroutine, and not after its handler returned.
//  4. "Database does not exist." wins over every error but those of authorisation.
//  5. A request sees one state of the settings, that of its begin.
//  6. Documents are read, written and shown through Call.Docs; Call.DB is for what is no document, and for readers of
//     snapshots that pass each document through documents.Database.Show.
//  7. No handler is named here: they come with the rows that Env.Route gets.
package call
