// Package site talks to a CouchDB or settee server as its administrator does: for commands that
// work on whole servers. What follows a redirection is the same for all who send credentials with
// an http.Client.
//
//   - site.go: Site, its requests and errors
//   - redirects.go: KeepCredentials, their CheckRedirect
//   - traced.go: Send, a request with the trace that it belongs to
//
// Invariants:
//  1. An answer that is no success is an [Error]; nobody has to look at status codes.
//  2. Passwords are in no error and in no URL that is shown.
package site
