//go:build race

package confine

// detector is the memory that the race detector maps in a worker, in bytes.
const detector = 1 << 30
