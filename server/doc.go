// Package server puts CouchDB's HTTP server together (ADR 0026).
//
//	server.go                       Options, New, Serve: the handlers and what runs beside them
//	routes.go                       the rows of all resources; coverage.go: docs/api-coverage.md
//	connections.go                  how many connections there may be
//	tls.go, prometheusport.go, functionsport.go  other listeners
//
// A request comes through a listener, sub-package wire, which lets through what net/http would refuse by itself, and
// echo to sub-package call, which describes its way. Handlers are packages by resource: admin, session, replicator,
// databases, documents, lists, changes, queries (views), designs (their functions), find (Mango), functions (event
// functions), functionspage (their web page); none imports server, and few import each other. Below them: docs is
// documents as the user of a request sees them, users finds users, auth knows passwords, cookies and tokens, memory
// bounds what requests have in memory, config holds the configuration, stats the counters, logging the log, rewrite
// rewrite rules; warm builds indexes without a query.
//
// The rows of all resources are the only list of endpoints: routing, Allow headers, access and docs/api-coverage.md are
// made from it.
package server
