// Package server speaks CouchDB's HTTP protocol over a storage.Store.
//
// # The way of a request
//
// wire (sub-package) lets through what net/http would refuse by itself; echo hands the request to serve (server.go), which
// makes a Call (call.go) and runs it through the chain (chain.go): observe, answer errors, limits of the head, virtual hosts, path and query,
// options, authentication; then dispatch finds the route (routes.go: the table; router.go: its tree), applies the access rule
// (access.go) and runs the handler. Answers leave through respond.go (whole bodies, errors) and stream.go (lists, feeds), which
// share headers.go; bodies come in through request.go.
//
// # Handlers
//
//	root.go, health.go, node.go, statsnode.go, reshard.go   the server and the node
//	dbs.go, dbsettings.go, maintenance.go        databases
//	alldocs.go, partition.go                     lists of documents
//	view.go, viewanswer.go, viewbookmark.go      queries of views, their answers, pages
//	viewinfo.go, viewdesign.go, viewwarm.go      what is told of indexes, design documents on their way in, builds without a query
//	ddoc*.go, reroute.go                         functions of design documents (sub-package rewrite: rewrite rules)
//
//	session.go                                   /_session
//
// auth.go runs the authentication handlers (sub-package auth knows passwords, cookies and tokens), userdirectory.go finds users and
// remembers them, peruser.go follows the users database. users.go is what happens to user documents on their way in and out,
// validate.go the rules that the store applies inside a document's transaction. settings.go and authsettings.go hold the parsed
// configuration (sub-package config), stats.go the counters; loglimit.go keeps lines of the log short,
// bodybudget.go the bodies of all requests within the memory there is. outgoing.go clients that do not take their answers.
//
// # Invariants
//
//  1. routes.go is the only list of endpoints: routing, Allow headers, access and docs/api-coverage.md are made from it.
//  2. Every answer goes through startHeaders, every error through fail.
//  3. Nothing of a stream is sent before its buffer is full or flushed, so that early errors are ordinary answers.
//  4. A Call is used by one goroutine, and not after its handler returned.
//  5. "Database does not exist." wins over every error but those of authorisation.
//  6. A request sees one state of the settings, that of its begin.
//  7. Documents are written through Call.updateDocs alone, which names the writer to the validator, and shown only after Call.open or
//     Call.shown, which hide user documents.
package server
