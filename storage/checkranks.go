package storage

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/storage/rank"
)

// ranksCheck is the phase of the counts over TagAllDocs.
type ranksCheck struct {
	cursor []byte
	begun  bool
	levels [rankLevels + 1]rankCount // [0] is unused
}

// rankCount compares the boundaries of one level with the rows.
type rankCount struct {
	// The boundaries; the first one is the empty key before all.
	keys   [][]byte
	counts []int64
	marks  [][]byte
	states []rank.State
	rows   []int64 // found from each boundary to the next
	found  int     // boundaries whose row is there
	at     int     // the boundary before the row at hand
}

// checkRanks checks the counts and the boundaries of each rank level.
func (c *dbCheck) checkRanks(d *dbRead) error {
	x := d.idRanks()
	if !c.ranks.begun {
		if err := c.ranks.read(d, x); err != nil {
			return err
		}
		c.ranks.begun = true
	}
	err := walk(d, x.Rows, &c.ranks.cursor, func(key, _ []byte) error {
		for n := 1; n <= rankLevels; n++ {
			if !c.ranks.levels[n].count(key) && x.Height(key) >= n {
				c.violation(6, "", "%q is no boundary of rank level %d", key, n)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for n := 1; n <= rankLevels; n++ {
		c.checkRankLevel(n, &c.ranks.levels[n])
	}
	return nil
}

func (c *dbCheck) checkRankLevel(n int, l *rankCount) {
	for i := 0; i < len(l.keys); {
		first, count, rows := i, int64(0), int64(0)
		for ; i == first || i < len(l.keys) && l.states[i] != rank.Settled; i++ {
			count += l.counts[i]
			rows += l.rows[i]
		}
		if count != rows {
			c.violation(6, "", "rank level %d at %q, %d boundaries: count %d, rows %d", n, l.keys[first], i-first, count, rows)
		}
	}
	var marked [][]byte
	for i, key := range l.keys[1:] {
		if l.states[i+1]&rank.Retired == 0 {
			marked = append(marked, key)
		}
	}
	if !slices.EqualFunc(l.marks, marked, bytes.Equal) {
		c.violation(6, "", "rank level %d has %d marks for %d boundaries, or others", n, len(l.marks), len(marked))
	}
	if l.found != len(marked) {
		c.violation(6, "", "rank level %d has %d boundaries, %d of them rows", n, len(marked), l.found)
	}
	for _, key := range l.keys[1:] {
		if rank.Height(key, rankLevels, rankFan) < n {
			c.violation(6, "", "rank level %d has %q, which does not reach it", n, key)
		}
	}
}

func (r *ranksCheck) read(d *dbRead, x *rank.Index) error {
	for n := 1; n <= rankLevels; n++ {
		l := rankCount{keys: [][]byte{{}}, counts: []int64{0}, states: []rank.State{rank.Settled}}
		var cursor []byte
		err := walk(d, x.Levels[n-1], &cursor, func(key, value []byte) error {
			weight, state := rank.Parse(value)
			count := weight.Rows
			if len(key) == 0 {
				l.counts[0] = count
				return nil
			}
			l.keys, l.counts, l.states = append(l.keys, bytes.Clone(key)), append(l.counts, count), append(l.states, state)
			return nil
		})
		if err != nil {
			return err
		}
		cursor = nil
		err = walk(d, x.Marks[n-1], &cursor, func(key, _ []byte) error {
			l.marks = append(l.marks, bytes.Clone(key))
			return nil
		})
		if err != nil {
			return err
		}
		l.rows = make([]int64, len(l.keys))
		r.levels[n] = l
	}
	return nil
}

// count notes a row, in ascending order, and tells whether it is a boundary.
func (l *rankCount) count(key []byte) (boundary bool) {
	for l.at+1 < len(l.keys) && bytes.Compare(l.keys[l.at+1], key) <= 0 {
		l.at++
	}
	l.rows[l.at]++
	if !bytes.Equal(l.keys[l.at], key) || l.states[l.at]&rank.Retired != 0 {
		return false
	}
	l.found++
	return true
}
