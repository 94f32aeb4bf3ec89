// Package site talks to a CouchDB or settee server as its administrator does: for commands that work on whole servers.
//
// Invariants:
//  1. An answer that is no success is an [Error]; nobody has to look at status codes.
//  2. Passwords are in no error and in no URL that is shown.
package site
