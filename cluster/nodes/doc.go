// Package nodes knows which processes have a store open, and divides work among them.
//
// Which replication of a document falls to whom is in [Share].
//
// # Keys, below the prefix of the members
//
//	()      counts processes that came and took their leave, 8 bytes little-endian; what is watched
//	(id)    of a process that is there: beat, what it has seen, what it tells of itself    members.go
//
// # Map
//
//	members.go   Members: this process says that it lives, and sees which others do
//	present.go   Members.CaughtUp: what a process does that stood still, before it serves anything
//	check.go     Check: what is stored can be read; List: who has a key
//	plan.go      Plan: who is to own which partition of an event function
//	share.go     Share: what falls to whom by its name
//
// # Invariants
//
//  1. No time of one process's clock is compared with another's: a process is gone when its key is,
//     or when that was seen unchanged for nine tenths of Options.Lease by the clock of who looks,
//     which is at most a lease after it was written. No process counts as gone before a look has
//     found it so.
//  2. A process that is alive but was taken for gone does no harm: its writes are fenced where they
//     are stored, so it only comes too late.
//  3. All who see the same owners and the same processes make the same plan, and a plan moves no partition that may
//     stay.
//  4. A process that has the store to itself writes nothing.
//  5. Below the prefix there are only keys that are described above.
//  6. A process that another one may have taken for gone is not Present until it has read again what others change. Its
//     own clock counts, the calendar, and the others' beats.
package nodes
