// Package functions serves event functions: the REST API of Couchbase Eventing below
// /_eventing/api/v1, for the functions of package eventing/registry and the engine that runs them.
// docs/eventing.md describes it.
//
//	engine.go      what the handlers ask of the engine
//	handlers.go    the handlers as a whole, methods, names in paths and queries
//	answer.go      answers and errors in their envelope
//	access.go      who may manage which functions
//	edit.go        functions: stored, shown, deleted, all at once or one
//	parts.go       settings, bindings and code of one function
//	exchange.go    export, import, backup
//	lifecycle.go   deploy, pause, resume, undeploy
//	status.go      states and lists
//	stats.go       statistics, for people and for Prometheus
//	rebalance.go   how functions are divided between processes, as Couchbase's tools ask for it
//	watching.go    logs, insight, test runs
//	debugger.go    debug sessions, where DevTools find them, which process has one
//	debugsocket.go the WebSocket that DevTools and the page connect to
//	letters.go     dead letters: messages that could not be delivered
//	endpoint.go    requests that functions answer: /_functions/NAME
//	config.go      what holds for all functions, error codes
//	routes.go      the rows of the route table
//
// # Invariants
//
//  1. Every answer has the header Status with the code of its envelope, 0 for success; but for what functions
//     answer themselves.
//  2. Nothing of a function is shown to users who may not manage it, and its secrets to nobody.
//  3. A change is made to the record that was looked at: who may change it, compile it and deploy it was asked for that
//     version (registry.ErrChanged).
package functions
