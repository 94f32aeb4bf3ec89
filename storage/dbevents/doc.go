// Package dbevents collects what happened to databases until it is written to _global_changes, in
// memory.
//
// Map:
//   - log.go: Log, Event and the id of its document, Batch
//
// Invariants:
//  1. An event is in the log once: of updates the first counts, of what was created or deleted the
//     last.
//  2. Events of one database are never in one Batch.
//  3. Nobody who notes an event waits.
package dbevents
