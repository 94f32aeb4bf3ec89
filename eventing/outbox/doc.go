// Package outbox keeps the messages that event functions publish, from the transaction that
// publishes them until they are delivered or somebody deletes them, and knows when each is due.
// Package eventing delivers them.
//
// # Map
//
//	message.go  Message: what is published, and its form in the store
//	box.go      Box: the messages of an instance that wait, by the time at which they are due
//	courier.go  Courier: has the messages of some partitions delivered when they are due
//	dead.go     dead letters: messages that could not be delivered
//	letters.go  dead letters as people list, read, replay and delete them
//	check.go    Checker: verifies what is stored
//
// # Invariants
//
//  1. A message is stored once and waits in one place: it is due, or a dead letter, never both.
//     It goes from one to the other, or away, in one transaction that reads the place where it was.
//  2. The pieces of a message are numbered without a gap.
//  3. The three counters say how many messages wait, how many are dead letters, and how many bytes
//     both have; they change in the transaction that changes what they count.
//  4. Due reads no more messages than it was asked for, and no bodies.
package outbox
