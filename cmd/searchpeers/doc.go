// Command searchpeers compares full-text search with Bleve: the same documents and queries, on the
// same disk, one after the other in one process. It prints how fast each builds, what each takes on
// disk, and what queries take.
//
//	cd cmd/searchpeers && go run . -docs 100000
//
// Functions of indexes run in Go here, so that neither side pays for JavaScript. It is a module of
// its own, since the server does not depend on Bleve. main.go has the documents, the queries and
// the table, settee.go and bleve.go those that are compared.
package main
