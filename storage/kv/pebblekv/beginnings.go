package pebblekv

import (
	"slices"
	"sync"
)

// beginnings are the versions at which the running Updates began, those that wait for the committer
// included.
type beginnings struct {
	mu  sync.Mutex
	all []beginning // by version
}

type beginning struct {
	// How many transactions run that began at a version.
	version uint64
	running int
}

// compareVersion orders the list for binary search: it is sorted by version.
func compareVersion(b beginning, version uint64) int {
	switch {
	case b.version < version:
		return -1
	case b.version > version:
		return 1
	}
	return 0
}

// begin notes that a transaction has begun at a version, and end that it is over.
func (b *beginnings) begin(version uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, found := slices.BinarySearchFunc(b.all, version, compareVersion)
	if !found {
		b.all = slices.Insert(b.all, i, beginning{version: version})
	}
	b.all[i].running++
}

func (b *beginnings) end(version uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, _ := slices.BinarySearchFunc(b.all, version, compareVersion)
	if b.all[i].running--; b.all[i].running == 0 {
		b.all = slices.Delete(b.all, i, i+1)
	}
}

// oldest is the lowest of them, none if there is none.
func (b *beginnings) oldest(none uint64) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.all) == 0 {
		return none
	}
	return b.all[0].version
}
