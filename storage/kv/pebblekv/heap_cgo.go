//go:build cgo

package pebblekv

// blocksInHeap: with cgo Pebble has its cache in memory of the C library.
const blocksInHeap = false
