package rank

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/storage/kv"
)

// On each level, and of the rows, a sum needs what lies between the last boundary of the level
// above and the key, and that boundary is known when the level above was read. Across a network the
// waits for one level after the other would be most of what a sum takes. So there all levels are
// asked together for what comes before the key, backwards: usually the boundary is in it.

// askedBack are such reads, by level, 0 of the rows; none where the store is not across a network.
type askedBack struct {
	most int // of rows
	its  []kv.Iterator
}

// stretches is how many times the usual length is read of a stretch: a longer one takes another
// read.
const stretches = 3

// askBack asks for what the levels below n, and the rows, have before a key. Level n is read from
// its beginning.
func (x *Index) askBack(r kv.ReadTx, n int, to []byte) (a askedBack) {
	if n < 1 || x.Together <= n {
		return a
	}
	a.most = stretches * int(x.Fan)
	for level := range n {
		prefix := x.Rows
		if level > 0 {
			prefix = x.level(level)
		}
		o := kv.RangeOptions{Reverse: true, Limit: a.most, WantAll: true}
		a.its = append(a.its, r.Range(prefix, rangeEnd(prefix, to), o))
	}
	return a
}

func (a *askedBack) close() {
	for _, it := range a.its {
		_ = it.Close()
	}
}

// rangeOf gives what a level has from the key from on: of what was asked for, or by a read of its
// own.
func (a *askedBack) rangeOf(r kv.ReadTx, n int, prefix, from, to []byte) kv.Iterator {
	begin := concat(prefix, from)
	if n < len(a.its) {
		found := &foundRows{at: -1}
		read, whole := 0, false
		for it := a.its[n]; !whole && it.Next(); read++ {
			order := bytes.Compare(it.Key(), begin)
			if order >= 0 {
				found.rows = append(found.rows, kv.Row{Key: bytes.Clone(it.Key()), Value: bytes.Clone(it.Value())})
			}
			whole = order <= 0
		}
		if found.err = a.its[n].Err(); whole || read < a.most || found.err != nil {
			slices.Reverse(found.rows)
			return found
		}
	}
	return r.Range(begin, rangeEnd(prefix, to), kv.RangeOptions{WantAll: true})
}

// foundRows iterates over rows that were read.
type foundRows struct {
	rows []kv.Row
	at   int
	err  error
}

// Next implements kv.Iterator.
func (f *foundRows) Next() bool {
	if f.err != nil {
		return false
	}
	f.at++
	return f.at < len(f.rows)
}

// Key implements kv.Iterator.
func (f *foundRows) Key() []byte { return f.rows[f.at].Key }

// Value implements kv.Iterator.
func (f *foundRows) Value() []byte { return f.rows[f.at].Value }

// Err implements kv.Iterator.
func (f *foundRows) Err() error { return f.err }

// Close implements kv.Iterator.
func (f *foundRows) Close() error { return f.err }
