// Package folder keeps event functions as files: NAME.json is a definition, NAME.js its code. A
// function of a database has NAME@DATABASE.json and .js. It tells what a server with some functions
// lacks to be as a folder says; who talks to the server is others' business.
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
