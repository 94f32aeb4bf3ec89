// Package debug keeps the debug sessions of event functions that a process has: which event each waits
// for, and the messages between a client of the Chrome DevTools protocol and the worker process
// that runs the handler. It understands neither events nor messages: package eventing catches events and
// runs handlers, package js/inspect answers messages in the worker.
//
// # Map
//
//	sessions.go  Sessions: those of a process; how many there may be
//	session.go   Session: from the wait for an event to its end
//	messages.go  messages from and to the client
//
// # Invariants
//
//  1. A process has at most Most sessions, a function one; each ends after its time.
//  2. A session catches one event.
//  3. Who knows a session's token may look into it; nobody else may. Tokens cannot be guessed.
//  4. What waits between client and worker is bounded; who sends more waits.
package debug
