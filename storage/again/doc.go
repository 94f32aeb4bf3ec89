// Package again has documents tried again for which an index had too little memory: by a process
// that has more of it, once for each size. How much there was is noted below the index, and moved up
// before the work begins, so that a process that does not survive it does not begin it again. A
// document that is too large for the index itself has no note.
//
// Map: again.go
package again
