//go:build !cgo

package pebblekv

// blocksInHeap: without cgo Pebble has its cache in Go's heap.
const blocksInHeap = true
