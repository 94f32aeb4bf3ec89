// Package histogram counts durations so that percentiles of them can be told, in a process and of several
// added up.
//
// # Map
//
//	histogram.go  Histogram: buckets of durations, as JSON for other processes
//
// # Invariants
//
//  1. A percentile is wrong by an eighth at most.
package histogram
