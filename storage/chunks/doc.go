// Package chunks is a buffer in pieces of one size, as which bytes of attachments are stored: what
// a request brings is read to where it stays until the store has it.
//
// Map: buffer.go the buffer.
//
// Invariant: all chunks but the last have the whole size, and none is empty.
package chunks
