// Package config holds the server's settings: CouchDB's ini sections and keys, live.
//
// Map: settings.go is the table of the settings that have effect, with a default and a line of
// documentation each (reference.go prints it, known.go tells it with what is in force and where that
// is from), defaults.go what a stock CouchDB's ini file sets,
// and defaults by name · ignored.go that of CouchDB's settings without effect here · config.go the
// layers (stock values, files, memory) and the API's rules · shared.go what processes on a store
// share, which package shared keeps · ini.go reads and edits ini files.
//
// Invariants:
//  1. Only stock values and what a file or the API set is listed by Section and All; defaults come from the table and
//     are never listed.
//  2. A change is visible to every reader as soon as Set or Delete returns, and subscribers have
//     run by then.
//  3. Values are strings; typed getters fall back to the table's default when a value does not
//     parse.
//  4. A value of an override goes before one that is shared, and that before one of a file; a deleted shared key is as
//     it is built in.
//  5. Of a value it is known which file, variable or layer it is from; secrets are shown as a mask.
//  6. Only the last ini file is ever written, and only the line of the changed key in it.
package config
