// Package progress tells how far the build of a design document's indexes is, as _active_tasks shows
// it. Reports are made by one goroutine, and read by any.
//
// Invariant: a Task that Show gives has the time of its last report, and numbers that were reported
// by then.
package progress
