// Package barepebble writes batches to Pebble with nothing on top. The benchmark holds the server
// against it: it is what the engine's log, tables and syncs cost by themselves.
//
// Invariant: the settings are Pebble's own, except for the memtable's size, which is what pebblekv
// has by default.
package barepebble
