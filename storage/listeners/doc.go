// Package listeners wakes those that wait for updates of a database: feeds, replications, event
// functions.
//
// Every write sets one key of its database, creation too, so one watch of that key tells of every
// update and of the deletion. One goroutine for each database with listeners watches it and fans
// out: a waiting listener is a channel receive. A listener may wait for the feeds of principals only
// (package audience): who sees a slice of a database is not woken by what others write.
//
// Map: listeners.go
//
// # Invariants
//
//  1. No update is missed: the watch begins with a value that was read before any listener that relies on it was
//     registered, or with the value after which it woke all of them. An update that is already seen may wake a listener
//     once more.
//  2. A listener belongs to one database: that of the name when it began to listen. When that is deleted it ends,
//     whatever has the name then.
package listeners
