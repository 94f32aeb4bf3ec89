package keyrange

import (
	"bytes"
	"cmp"

	"github.com/settee-db/settee/storage/kv"
)

// merged reads ranges of the rows of several principals as one. It is a kv.Iterator.
type merged struct {
	ranges  []principalRange
	base    int // length of what all keys begin with
	reverse bool
	at      int    // the range that has the row at hand
	given   []byte // scratch
	err     error
}

// principalRange is what is left of the rows of a principal.
type principalRange struct {
	it   kv.Iterator
	bare []byte // the next row's key without the principal; nil: there is none
}

// Merge reads ranges as one, in the order of the keys without their principals; what several have
// at the same key is given once. Keys begin with base bytes that all have, and then the principal of
// one that has the row. Each range is read as far as the merge is, and one row further.
func Merge(ranges []kv.Iterator, base int, reverse bool) kv.Iterator {
	m := &merged{ranges: make([]principalRange, len(ranges)), base: base, reverse: reverse, at: -1}
	for i, it := range ranges {
		m.ranges[i].it = it
	}
	return m
}

// Next implements kv.Iterator.
func (m *merged) Next() bool {
	if m.err != nil {
		return false
	}
	if m.at < 0 {
		for i := range m.ranges {
			m.step(&m.ranges[i])
		}
	} else {
		m.given = append(m.given[:0], m.ranges[m.at].bare...) // a step overwrites it
		for i := range m.ranges {
			if r := &m.ranges[i]; r.bare != nil && bytes.Equal(r.bare, m.given) {
				m.step(r)
			}
		}
	}
	m.at = 0
	first := []byte(nil)
	for i := range m.ranges {
		bare := m.ranges[i].bare
		if bare == nil {
			continue
		}
		order := bytes.Compare(bare, first)
		if first == nil || order < 0 && !m.reverse || order > 0 && m.reverse {
			m.at, first = i, bare
		}
	}
	return first != nil && m.err == nil
}

// step goes on to the next row of a principal.
func (m *merged) step(r *principalRange) {
	r.bare = nil
	if !r.it.Next() {
		m.err = cmp.Or(m.err, r.it.Err())
		return
	}
	rowKey := r.it.Key()[m.base:]
	r.bare = rowKey[PrincipalLength(rowKey):]
}

// Key implements kv.Iterator.
func (m *merged) Key() []byte { return m.ranges[m.at].it.Key() }

// Value implements kv.Iterator.
func (m *merged) Value() []byte { return m.ranges[m.at].it.Value() }

// Err implements kv.Iterator.
func (m *merged) Err() error { return m.err }

// Close implements kv.Iterator.
func (m *merged) Close() error {
	for i := range m.ranges {
		m.err = cmp.Or(m.err, m.ranges[i].it.Close())
	}
	return m.err
}
