//go:build !linux

package admin

// processNumbers has no numbers on this system.
func processNumbers() (code, switches uint64) { return 0, 0 }

// openFiles cannot count on this system.
func openFiles() int { return 0 }
