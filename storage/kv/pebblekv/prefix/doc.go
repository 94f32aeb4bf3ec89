// Package prefix orders the keys of pebblekv, and tells Pebble which of them belong together.
//
// Keys that go on after two integers and a text, such as the leaves of a document, share these three as their prefix;
// any other key is its own (docs/adr/0058). The filters of tables know prefixes: a read of all keys of one passes over
// the tables that have none of them, as a read of one key does.
//
// Map: prefix.go Comparer, and Is, which tells ranges of prefixes.
//
// Invariants:
//
//  1. Keys are ordered by their bytes; those of a prefix follow each other.
//  2. What the prefix of a key is never changes: tables of a store have filters that were made by it.
package prefix
