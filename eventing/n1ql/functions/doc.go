// Package functions has the functions of N1QL: those of values, and the aggregates of the values of
// many rows.
//
//   - functions.go: Function, Caller; functions of numbers, types and conditions
//   - text.go, patterns.go, dates.go, bits.go: functions of strings, regular expressions, dates and bits;
//     ranges.go: dates between others, and durations; encoding.go: base64 and hashes
//   - arrays.go, sets.go, objects.go: functions of arrays, of arrays as sets, of objects and JSON; paths.go: what
//     is deep in them
//   - aggregate.go: Aggregate
//
// Invariants:
//  1. A function fails only for want of memory: what makes no sense is NULL or MISSING.
//  2. What is larger than its arguments is asked for at the Caller before it is made.
package functions
