package timeseq

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Exact is how many seconds of marks are kept as they are.
const Exact = 4096

// Mark is a second in which something was committed.
type Mark struct {
	Second  int64      // since 1970, not negative
	After   compat.Seq // what was committed in it, or later, comes after this
	Updates uint64     // that the database had up to there
}

// Index is the marks of a database.
type Index struct {
	Prefix []byte
	Exact  int64 // see the constant; tests have smaller ones
}

const seqSize = 1 + len(compat.Seq{}.Versionstamp)

func (x Index) key(second int64) []byte {
	return tuple.AppendInt(x.Prefix[:len(x.Prefix):len(x.Prefix)], second)
}

// from is the range of the marks of a second and later ones.
func (x Index) from(second int64) (begin, end []byte) {
	return x.key(max(second, 0)), kv.AppendPrefixEnd(nil, x.Prefix)
}

// Before is the largest sequence before a commit, by any of the sequences that it gave out.
func Before(seq compat.Seq) compat.Seq {
	stamp := seq.Versionstamp[:len(seq.Versionstamp)-2] // the rest numbers the updates of the commit
	for i := len(stamp) - 1; i >= 0; i-- {
		if stamp[i]--; stamp[i] != 0xff {
			break
		}
	}
	binary.BigEndian.PutUint16(seq.Versionstamp[len(stamp):], 0xffff)
	return seq
}

func (m *Mark) encode() []byte {
	b := append(make([]byte, 0, seqSize+binary.MaxVarintLen64), m.After.Incarnation)
	return binary.AppendUvarint(append(b, m.After.Versionstamp[:]...), m.Updates)
}

// parse reads a mark; kv.ErrCorrupt if it is none.
func (x Index) parse(key, value []byte) (m Mark, err error) {
	second, rest, err := tuple.ReadInt(bytes.TrimPrefix(key, x.Prefix))
	if err != nil || len(rest) > 0 || second < 0 || len(value) < seqSize {
		return m, fmt.Errorf("time sequence: malformed mark: %w", kv.ErrCorrupt)
	}
	m = Mark{Second: second, After: compat.Seq{Incarnation: value[0]}}
	copy(m.After.Versionstamp[:], value[1:])
	n := 0
	if m.Updates, n = binary.Uvarint(value[seqSize:]); n <= 0 {
		return m, fmt.Errorf("time sequence: malformed mark: %w", kv.ErrCorrupt)
	}
	return m, nil
}

// Since is the place in the feed after which all comes that was committed at a second or later;
// now: all that is still to come. It is the beginning where the database may have commits of that
// second without a time. log gives the marks that are not in the index yet, in the order of their
// places.
func (x Index) Since(r kv.ReadTx, second int64, log func() ([]Mark, error)) (after compat.Seq, now bool, err error) {
	begin, end := x.from(second)
	m, found, err := x.one(r, begin, end, false)
	if err != nil {
		return after, false, err
	}
	_, older, err := x.one(r, x.key(0), begin, true)
	if err != nil {
		return after, false, err
	}
	if !found {
		marks, err := log()
		if err != nil {
			return after, false, err
		}
		for ; len(marks) > 0 && !found; marks = marks[1:] {
			m, found = marks[0], marks[0].Second >= second
			older = older || !found
		}
	}
	switch {
	case !older:
		return after, false, nil
	case found:
		return m.After, false, nil
	}
	return after, true, nil
}

// Each calls fn for the marks in their order. Its error ends the walk.
func (x Index) Each(r kv.ReadTx, fn func(Mark) error) error {
	begin, end := x.from(0)
	it := r.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	for it.Next() {
		m, err := x.parse(it.Key(), it.Value())
		if err == nil {
			err = fn(m)
		}
		if err != nil {
			return err
		}
	}
	return it.Err()
}

// one reads the first mark of a range, or the last one.
func (x Index) one(r kv.ReadTx, begin, end []byte, last bool) (m Mark, found bool, err error) {
	return x.next(r.Range(begin, end, kv.RangeOptions{Reverse: last, Limit: 1}))
}

// next reads the first mark of an iterator, and closes it.
func (x Index) next(it kv.Iterator) (m Mark, found bool, err error) {
	defer it.Close()
	if it.Next() {
		m, err = x.parse(it.Key(), it.Value())
		return m, err == nil, err
	}
	return m, false, it.Err()
}

// Add takes in commits in their order, which come after all that were taken in before, and thins
// out what has become old. It conflicts with another one that takes some in meanwhile.
func (x Index) Add(tx kv.Tx, commits []Mark) error {
	if len(commits) == 0 {
		return nil
	}
	begin, end := x.from(0)
	first := tx.Snapshot().Range(begin, end, kv.RangeOptions{Limit: 1})
	defer first.Close()
	newest, found, err := x.one(tx, begin, end, true)
	if err != nil {
		return err
	}
	if !found {
		newest.Second = -1
	}
	was := newest.Second
	var added []Mark
	for _, m := range commits {
		if m.Second > newest.Second {
			added, newest = append(added, m), m
		}
	}
	if len(added) == 0 {
		return nil
	}
	oldest, found, err := x.next(first)
	if err != nil {
		return err
	}
	if !found {
		oldest = added[0]
	}
	old, err := x.stretches(tx, oldest.Second, was, newest.Second)
	if err != nil {
		return err
	}
	for _, m := range added {
		tx.Set(x.key(m.Second), m.encode())
	}
	for _, o := range old {
		x.thin(tx, o.with(added), o.width)
	}
	return nil
}

// stretches are the marks of which one is to be left in each stretch of a width.
type stretches struct {
	width, end int64
	marks      []Mark
}

// with are the marks with those that come to them.
func (s *stretches) with(added []Mark) []Mark {
	for _, m := range added {
		if m.Second < s.end {
			s.marks = append(s.marks, m)
		}
	}
	return s.marks
}

// stretches reads the marks, from the oldest on, that have become old enough to be thinned out
// while the newest mark moved from one second to another; each stretch of each width is looked at
// once. Those of a width lie in one of twice that width, which comes later in the list.
func (x Index) stretches(tx kv.Tx, oldest, was, now int64) (list []stretches, err error) {
	var reads []kv.Iterator // all at once
	for width, age := int64(2), x.Exact; now-age >= oldest; width, age = 2*width, 2*age {
		begin, end := max(was-age, 0)/width*width, (now-age)/width*width
		if begin < end {
			list = append(list, stretches{width: width, end: end})
			reads = append(reads, tx.Range(x.key(begin), x.key(end), kv.RangeOptions{WantAll: true}))
		}
	}
	for i, it := range reads {
		for err == nil && it.Next() {
			var m Mark
			if m, err = x.parse(it.Key(), it.Value()); err == nil {
				list[i].marks = append(list[i].marks, m)
			}
		}
		if err == nil {
			err = it.Err()
		}
		_ = it.Close()
	}
	return list, err
}

// thin leaves the last mark in each stretch of a width, with the place of the first.
func (x Index) thin(tx kv.Tx, marks []Mark, width int64) {
	for n := 0; len(marks) > 0; marks = marks[n:] {
		for n = 1; n < len(marks) && marks[n].Second/width == marks[0].Second/width; n++ {
			tx.Clear(x.key(marks[n-1].Second))
		}
		if n > 1 {
			merged := marks[0]
			merged.Second = marks[n-1].Second
			tx.Set(x.key(merged.Second), merged.encode())
		}
	}
}
