// Package registry keeps event functions in the store: of each its definition, the version that is
// deployed, its state, and whose rights it has. Every change is one transaction, and is seen by all
// processes on the store.
//
// # Keys, below the prefix of eventing
//
//	(keyChanges)                           counts changes, 8 bytes little-endian; what Watch waits for
//	(keyFunction, bucket, scope, name)     record, JSON                                               record.go
//	(keyFunction, …, name, chunk)          further bytes of a record that is longer than a value may be
//	(keyConfig)                            definition.Config, JSON                                    config.go
//	(keyNextInstance)                      number of the next instance, 8 bytes little-endian         lifecycle.go
//	(keyInstance, instance, …)             of the engine: all that a deployed function has to remember
//	(keyDebugging, bucket, scope, name)    Debugging, JSON                                            debugging.go
//
// # Map
//
//	registry.go    Registry: open, read, watch
//	record.go      a record, its keys and its value
//	edit.go        define, change, delete
//	lifecycle.go   deploy, pause, undeploy, and how an engine ends them
//	config.go      what holds for all functions
//	debugging.go   debug sessions, which all processes know
//	check.go       Check: verifies what is stored
//
// # Invariants
//
//  1. A change that returned an error has changed nothing.
//  2. keyChanges grows with every change, in its transaction; List tells the count that its records
//     belong to, so that Watch from that count misses none.
//  3. A change names the version of the record that its caller has seen. If the record has changed
//     meanwhile the error is ErrChanged, so that nobody writes over, deploys or deletes what was not
//     looked at.
//  4. A record has Deployed and an Instance if it is not Undeployed. The number of an instance is never
//     used again; the instance is kept over pauses and ends with an undeployment.
//  5. Hooks run inside the transaction of the change, and may run several times.
//  6. Keys and values have the forms above; a record is below the key of the function that it names,
//     its pieces are numbered without a gap.
//  7. A debug session takes one event, whichever processes look for it.
package registry
