// Package inspect lets a client of the Chrome DevTools protocol look into JavaScript that goja runs: it
// stops the program at breakpoints and steps, shows its variables, and evaluates expressions there.
//
// It runs in worker processes (package js), with the realm of the program: what a client sends is
// read, and runs, where the program does. goja has no debugger. The program's tree gets a call before
// each statement, a mark, with a function that gives the variables of that place; where the program
// stops, the call waits.
//
// # Map
//
//	instrument.go  marks in the tree of a program, and which names are there
//	session.go     Session: the stack, where the program stops and how long
//	protocol.go    messages of the client and to it
//	debugger.go    the protocol's domain Debugger: breakpoints, steps, frames
//	values.go      the domain Runtime: values, their members, expressions
//	quiet.go       what DevTools evaluate and compile while somebody types
//
// # Invariants
//
//  1. A program with marks does what it does without.
//  2. Nothing that a client sends ends more than the session: messages, breakpoints, objects and
//     frames that are shown are bounded, and expressions have a time.
//  3. While something is evaluated for the client nothing stops.
package inspect
