// Package debug keeps the debug sessions of event functions as a process knows them: which event each
// waits for, and, in the process that has caught it, the messages between a client of the Chrome DevTools
// protocol and the worker process that runs the handler. It understands neither events nor messages:
// package eventing catches events and runs handlers, package js/inspect answers messages in the worker.
// Package registry has the sessions of the store.
//
// # Map
//
//	sessions.go  Sessions: those that a process knows, as the registry has them
//	wanted.go    which event a session catches; what is stored of it
//	session.go   Session: from the wait for an event to its end
//	effects.go   what the handler has done so far
//	messages.go  messages from and to the client
//	tickets.go   addresses for clients that cannot log in
//
// # Invariants
//
//  1. A store has at most Most sessions, a function one; each ends after its time.
//  2. A session catches one event, in one process.
//  3. A ticket opens its session once, and for TicketTime. It cannot be guessed.
//  4. What waits between client and worker is bounded; who sends more waits. So is what is kept of what
//     the handler does; the rest is counted.
package debug
