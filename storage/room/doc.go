// Package room is the memory of a request whose transactions index documents: what is made of large
// documents, and what functions give back for small ones, is counted before it is taken, or is
// forgotten and waited for. It knows no store; nobody waits inside of a transaction.
//
// Map: room.go
//
// Invariants:
//
//  1. Who needs no more than Free asks nobody.
//  2. Who waits holds nothing of what it waits for.
package room
