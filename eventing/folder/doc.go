// Package folder keeps event functions as files: NAME.json is a definition, NAME.js its code. A
// function of a database has NAME@DATABASE.json and .js. It compares the functions of a server with
// those of a folder and plans the changes; the command settee functions makes them.
//
// # Map
//
//	files.go  functions in files: read, written, shown as text
//	plan.go   Plan: what differs, and what has to be done about it
//
// # Invariants
//
//  1. What Write has written Read reads as the same function, but for secrets, which are in no file that it
//     writes and in no text.
//  2. A plan changes a function that is deployed without stopping it, if that is possible, and never
//     has one forget its place.
package folder
