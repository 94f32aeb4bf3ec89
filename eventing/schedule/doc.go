// Package schedule says when functions are called by the clock: every so often, or at a time of the
// day. It keeps nothing and has no clock; package eventing stores the next call of each schedule as a
// timer.
//
// # Map
//
//	schedule.go  Schedule: one entry of the setting schedules, its rules, the time of its next call
//
// # Invariants
//
//  1. Next is later than the time that it is given, and no call of the schedule is between them.
//  2. The times of a schedule depend on nothing but what it says: whoever computes them, and
//     whenever, finds the same.
package schedule
