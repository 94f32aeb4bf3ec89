// Package alarm knows when what is stored of the partitions of an event function is due: its timers,
// or its messages.
//
// # Map
//
//	alarm.go  Alarm: when partitions are looked at again, and who is woken
//
// # Invariants
//
//  1. What is set while a partition is looked at is not lost: the partition is looked at again.
package alarm
