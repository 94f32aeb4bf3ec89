// Package server puts CouchDB's HTTP server together (ADR 0026).
//
//	server.go                       Options, New, Serve: the handlers and what runs beside them
//	routes.go                       the rows of all resources; coverage.go: docs/api-coverage.md
//	forusers.go                     what they answer to whom, where access is for each document
//	autopurge.go                    the settings of what purges deleted documents
//	connections.go                  how many connections there may be
//	tls.go, prometheusport.go, functionsport.go  other listeners
//
// A request comes through a listener, sub-package wire, which lets through what net/http would
// refuse by itself, and echo to sub-package call, which describes its way. Handlers are packages by
// resource: admin, session, replicator, databases, documents, lists, changes, queries (views),
// designs (their functions), find (Mango), functions (event functions), console,
// fulltext; none imports server, and few import each other. Below them: params reads
// options, users finds users, auth reads what headers prove, stats has the counters, logging the
// log, rewrite rewrite rules, localpeer is the local side of a replication; warm builds indexes
// without a query. What is not HTTP lies on floors of its own: documents, principal, memory, config
// (ADR 0069).
//
// The rows of all resources are the only list of endpoints: routing, Allow headers, access and
// docs/api-coverage.md are made from it.
package server
