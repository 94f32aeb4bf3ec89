// Package servertest starts servers for tests of server and of the packages below it: what a
// handler answers is tested in the handler's own package, through the whole chain that a request
// passes.
//
//	servertest.go   a server over a memory store, and requests to it
//	users.go        one with users
//	javascript.go   one that runs functions of design documents
//	language.go     views without JavaScript
//	nobody_linux.go   what a process may do that is not root
//
// Only tests import it, in external test packages (package documents_test), since it imports server
// and all below.
package servertest
