//go:build !race

package confine

const detector = 0
