// Package pcre matches texts with the patterns of PCRE that selectors have in $regex. CouchDB runs
// PCRE over the bytes of UTF-8 and takes each for a character of Latin-1; so patterns are compiled
// here, and texts matched, with every byte as the character of its number.
//
//   - pcre.go: patterns for package regexp, whose time is linear
//   - backtrack.go: those that it refuses, on a backtracking engine with bounds of time
//
// The package mango tells how matches differ from CouchDB's.
package pcre
