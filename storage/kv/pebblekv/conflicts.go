package pebblekv

import (
	"hash/maphash"
	"slices"
	"time"
)

// The window of commits that a transaction can be checked against is kept in generations. One ends
// when it has generationKeys; where hardly anybody writes after generationMaxAge, so that the keys
// of a busy time do not stay for good. The two youngest are always kept, since a transaction that
// has just begun is counted as running a moment later; older ones as long as a running transaction
// began before them, up to maxGenerations: about 70 MB of keys. A transaction that is older than
// that gets a turn (turn.go). Generations are small, since only whole ones are dropped: two of
// 150,000 keys were 26 of the 34 MB that a server under load had in use.
const (
	generationKeys   = 20_000
	generationMaxAge = time.Minute
	minGenerations   = 2
	maxGenerations   = 30
)

// maxWriteSet bounds the keys of a merged write set: merging further would cost the committer more
// than looking at some sets more.
const maxWriteSet = 4096

// conflictSet knows what was written lately, so that the committer can tell whether a transaction's
// reads still hold. Single keys are looked up by hash; ranges in sorted write sets, of which only
// those younger than the transaction's snapshot are looked at. Only the committer uses it.
type conflictSet struct {
	seed      maphash.Seed
	all       []generation // oldest first; what is written comes into the last one
	floor     uint64       // what was written at or below this version is forgotten
	maxKeys   int          // of a generation
	most      int          // generations
	scratch   []*writeSet
	clock     func() time.Time
	startedAt time.Time // of the last generation
}

// generation is what was written in one part of the window.
type generation struct {
	keys map[uint64]uint64 // hash of key → commit version
	// What ranges are compared with, which hashes cannot answer.
	sets []writeSet // oldest first
	// How much is in it, and its newest version.
	size   int
	newest uint64
}

func newGeneration(newest uint64) generation {
	return generation{keys: map[uint64]uint64{}, newest: newest}
}

// newConflictSet begins a set that knows nothing of what was written up to floor: transactions that
// began before it are refused.
func newConflictSet(seed maphash.Seed, floor uint64) *conflictSet {
	c := &conflictSet{
		seed: seed, floor: floor, maxKeys: generationKeys, most: maxGenerations, clock: time.Now,
	}
	c.all = []generation{newGeneration(floor)}
	c.startedAt = c.clock()
	return c
}

// checkable reports whether everything written above version since is still known.
func (c *conflictSet) checkable(since uint64) bool { return since >= c.floor }

// conflicts reports whether one of the reads met a write above version since.
func (c *conflictSet) conflicts(reads *readSet, since uint64) bool {
	if !c.checkable(since) {
		return true
	}
	young := c.youngSets(since)
	for i, hash := range reads.hashes {
		if c.keyWritten(hash, reads.keys[i], since, young) {
			return true
		}
	}
	for _, r := range reads.ranges {
		for _, y := range young {
			if y.written(r.begin, r.end, since) {
				return true
			}
		}
	}
	return false
}

// keyUnchanged reports whether key is surely what it was at version since.
func (c *conflictSet) keyUnchanged(key string, since uint64) bool {
	return c.checkable(since) && !c.keyWritten(maphash.String(c.seed, key), key, since, c.youngSets(since))
}

// keyWritten reports whether a key was, or may have been, written after version since. Older write
// sets are known by hashes only, so two keys with one hash count as one: that costs a transaction a
// needless repetition, and never hides a conflict.
func (c *conflictSet) keyWritten(hash uint64, key string, since uint64, young []*writeSet) bool {
	for i := len(c.all) - 1; i >= 0 && c.all[i].newest > since; i-- {
		if c.all[i].keys[hash] > since {
			return true
		}
	}
	for _, r := range young {
		if r.newestRange > since && r.keyWrittenIn(key, since) {
			return true
		}
	}
	return false
}

// youngSets returns the write sets that hold a version above since. The slice is good until the
// next call.
func (c *conflictSet) youngSets(since uint64) []*writeSet {
	c.scratch = c.scratch[:0]
	for n := len(c.all) - 1; n >= 0 && c.all[n].newest > since; n-- {
		sets := c.all[n].sets
		for i := len(sets) - 1; i >= 0 && sets[i].newest > since; i-- {
			c.scratch = append(c.scratch, &sets[i])
		}
	}
	return c.scratch
}

// add notes what an accepted transaction wrote. hashes are those of r's keys; versions never fall
// from call to call.
func (c *conflictSet) add(r writeSet, hashes []uint64) {
	if r.len() == 0 {
		return
	}
	g := &c.all[len(c.all)-1]
	for _, hash := range hashes {
		g.keys[hash] = r.newest
	}
	g.size += r.len()
	g.newest = r.newest
	// Runs double in length from young to old, so each key is merged only a few times.
	for n := len(g.sets); n > 0; n = len(g.sets) {
		last := &g.sets[n-1]
		if last.len() > 2*r.len() || last.len()+r.len() > maxWriteSet {
			break
		}
		r = mergeWriteSets(last, &r)
		g.sets = g.sets[:n-1]
	}
	g.sets = append(g.sets, r)
}

// rotate begins a new generation when the last one is complete, and forgets what no transaction
// needs that began at version oldest or later. The committer calls it between groups.
func (c *conflictSet) rotate(oldest uint64) {
	now, last := c.clock(), &c.all[len(c.all)-1]
	age := now.Sub(c.startedAt)
	// else an old transaction would lose what it is checked against
	unneeded := len(c.all) < c.most || c.all[0].newest <= oldest
	if last.size >= c.maxKeys || last.size > 0 && age >= generationMaxAge && unneeded {
		c.all = append(c.all, newGeneration(last.newest))
		c.startedAt = now
	}
	n := max(0, len(c.all)-c.most)
	for n < len(c.all)-minGenerations && c.all[n].newest <= oldest {
		n++
	}
	if n > 0 {
		c.floor = c.all[n-1].newest
		c.all = slices.Delete(c.all, 0, n)
		c.scratch = nil // it may point to sets of what is forgotten
	}
}
