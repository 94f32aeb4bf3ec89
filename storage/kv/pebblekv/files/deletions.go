package files

import (
	"bytes"
	"slices"
	"sort"
)

// covering finds the newest deleted range that a key is in, for keys that ascend.
type covering struct {
	waiting []deletion // by start
	active  []deletion
}

// newCovering begins with deletions in the order in which they begin, as the walk over keys meets
// them.
func newCovering(all []deletion) *covering {
	all = slices.Clone(all)
	sort.Slice(all, func(i, j int) bool { return bytes.Compare(all[i].start, all[j].start) < 0 })
	return &covering{waiting: all}
}

// newest is the sequence number of the newest deletion of key, 0 if there is none.
func (c *covering) newest(key []byte) (seq uint64) {
	for len(c.waiting) > 0 && bytes.Compare(c.waiting[0].start, key) <= 0 {
		c.active = append(c.active, c.waiting[0])
		c.waiting = c.waiting[1:]
	}
	c.active = slices.DeleteFunc(c.active, func(d deletion) bool { return bytes.Compare(d.end, key) <= 0 })
	for _, d := range c.active {
		seq = max(seq, d.seq)
	}
	return seq
}
