//go:build !race

package js

const detector = 0
