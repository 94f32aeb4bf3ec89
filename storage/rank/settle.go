package rank

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/storage/kv"
)

// maxTidied bounds the boundaries of a stretch that are tidied at a time, and the stretches of a level with retired
// ones that are tidied in one transaction.
const maxTidied = 500

// stretch is the boundaries from a settled one up to the next one, or, of many, that one and the last ones.
type stretch struct {
	parts  []stretchPart
	next   []byte   // the settled boundary after it, nil if there is none
	cut    bool     // there are open boundaries between the first part and the second
	settle bool     // its open boundaries get their rows
	rows   []Weight // then: what the parts but the first have now
}

// stretchPart is a boundary with the retired ones after it, up to the next one that is not retired.
type stretchPart struct {
	key     []byte
	open    bool
	weight  Weight
	retired []weighed
}

type weighed struct {
	key    []byte
	weight Weight
}

// rest is the weight of the retired boundaries.
func (p *stretchPart) rest() (w Weight) {
	for i := range p.retired {
		w = w.Add(p.retired[i].weight)
	}
	return w
}

// Settle tidies the stretches of level n that have the boundaries, in order; what is not there or settled is left
// alone. It reads without conflicts from snap, which shows the rows and the weights of one state: that before the
// transaction changed anything on level n or below, or that after all of its changes.
func (x *Index) Settle(tx kv.Tx, snap kv.ReadTx, n int, bounds [][]byte) error {
	if len(bounds) == 0 {
		return nil
	}
	keys := make([][]byte, len(bounds))
	for i := range bounds {
		keys[i] = concat(x.level(n), bounds[i])
	}
	values, err := snap.GetMany(keys)
	if err != nil {
		return err
	}
	var untidy [][]byte
	for i := range bounds {
		if _, state := Parse(values[i]); state != Settled {
			untidy = append(untidy, bounds[i])
		}
	}
	return x.tidyAll(tx, snap, n, untidy)
}

// tidyAll tidies the stretches of boundaries of level n that are not settled, in order. Across a network what belongs
// to many of them is asked for together.
func (x *Index) tidyAll(tx kv.Tx, snap kv.ReadTx, n int, bounds [][]byte) error {
	for len(bounds) > 0 {
		done, err := x.tidy(tx, snap, n, bounds[:min(len(bounds), x.atOnce())])
		if err != nil {
			return err
		}
		for _, d := range done {
			bounds = d.without(bounds)
		}
	}
	return nil
}

// tidied is the boundaries from one up to another.
type tidied struct{ from, to []byte } // to: nil is after all

// without gives the boundaries that are not among those; they are in order.
func (d tidied) without(bounds [][]byte) [][]byte {
	from, _ := slices.BinarySearchFunc(bounds, d.from, bytes.Compare)
	to := len(bounds)
	if d.to != nil {
		to, _ = slices.BinarySearchFunc(bounds, d.to, bytes.Compare)
	}
	if from == 0 {
		return bounds[to:]
	}
	return append(bounds[:from:from], bounds[to:]...)
}

// tidy gives the open boundaries of some stretches their rows, unless one of a stretch is still open on a lower level:
// one that is settled is so on all levels below. It takes retired boundaries away, whose weight goes to the one before.
// Each of bounds is one of either; the stretches are theirs. Of a stretch that is cut those before the last ones are
// for the next time, but across a network for the next transaction. It returns what needs no other look.
func (x *Index) tidy(tx kv.Tx, snap kv.ReadTx, n int, bounds [][]byte) (done []tidied, err error) {
	firsts, err := x.stretchesBefore(snap, n, bounds)
	if err != nil {
		return nil, err
	}
	stretches, err := x.stretchesFrom(snap, n, firsts)
	if err != nil {
		return nil, err
	}
	if err := x.settledBelow(snap, n, stretches); err != nil {
		return nil, err
	}
	if err := x.weighParts(snap, n, stretches); err != nil {
		return nil, err
	}
	for i := range stretches {
		s := &stretches[i]
		x.tidyStretch(tx, n, s)
		from := s.parts[0].key
		if s.cut && s.settle && !x.Remote {
			from = s.parts[1].key
		}
		done = append(done, tidied{from, s.next})
	}
	return done, nil
}

// tidyStretch is tidy for one stretch.
func (x *Index) tidyStretch(tx kv.Tx, n int, s *stretch) {
	var moved Weight
	gains := make([]Weight, len(s.parts))
	for i := len(s.parts) - 1; i >= 0; i-- {
		p := &s.parts[i]
		gains[i] = p.rest()
		if i == 0 {
			gains[0] = gains[0].Sub(moved)
			break
		}
		if !s.settle {
			continue
		}
		found := s.rows[i].Sub(p.weight).Sub(gains[i]) // when it was made
		gains[i] = gains[i].Add(found)
		moved = moved.Add(found)
	}
	for i := range s.parts {
		p := &s.parts[i]
		var mark int64
		if p.open && s.settle {
			mark = -Open.mark()
		}
		x.lock(tx, n, p.key)
		for _, r := range p.retired {
			x.remove(tx, n, p.key, r.key)
		}
		x.add(tx, concat(x.level(n), p.key), mark, gains[i])
	}
}

// weighParts weighs the rows of the parts but the first of stretches that are to be settled, each in one range: the
// rows of level 1, and on others the weights of the level below, where all of these boundaries are settled.
func (x *Index) weighParts(snap kv.ReadTx, n int, stretches []stretch) error {
	prefix := x.Rows
	if n > 1 {
		prefix = x.level(n - 1)
	}
	its := make([]kv.Iterator, len(stretches))
	for i := range stretches {
		if s := &stretches[i]; s.settle {
			begin, end := concat(prefix, s.parts[1].key), rangeEnd(prefix, s.next)
			its[i] = snap.Range(begin, end, kv.RangeOptions{WantAll: true})
			defer its[i].Close()
		}
	}
	for i, it := range its {
		if it == nil {
			continue
		}
		s := &stretches[i]
		s.rows = make([]Weight, len(s.parts))
		at := 1
		for it.Next() {
			key := it.Key()[len(prefix):]
			for at+1 < len(s.parts) && bytes.Compare(s.parts[at+1].key, key) <= 0 {
				at++
			}
			w, err := x.weightBelow(n, key, it.Value())
			if err != nil {
				return err
			}
			s.rows[at] = s.rows[at].Add(w)
		}
		if err := it.Err(); err != nil {
			return err
		}
	}
	return nil
}

// weightBelow is what level n makes of a row of what is below it: the rows, or the weights of another level.
func (x *Index) weightBelow(n int, key, value []byte) (w Weight, err error) {
	switch {
	case n > 1:
		w, _ = Parse(value)
	case x.wide():
		w, err = x.Weigh(key, value)
	default:
		w.Rows = 1
	}
	return w, err
}

// remove takes a retired boundary away whose weight into, the one before it, gets. It conflicts with whoever changed
// that weight, with boundaries made between the two, and, by the guard, with writers so slow that they know the
// boundary from before it was retired.
func (x *Index) remove(tx kv.Tx, n int, into, retired []byte) {
	x.lock(tx, n, retired)
	at := concat(x.level(n), retired)
	tx.AddReadConflictRange(at, kv.AppendKeyAfter(nil, at))
	guard := x.guard(n, retired)
	tx.AddReadConflictRange(x.guard(n, into), afterGuard(concat(x.mark(n), retired)))
	tx.AddWriteConflictRange(guard, kv.AppendKeyAfter(nil, guard))
	tx.Clear(at)
}

// guard is a key, never written, that who changes the weight of a boundary reads, and who takes the boundary away
// writes. Behind a row's key and one zero byte there are no rows' keys before those of other rows.
func (x *Index) guard(n int, bound []byte) []byte {
	return kv.AppendKeyAfter(nil, concat(x.mark(n), bound))
}

// afterGuard comes after the guard of a boundary, given its mark.
func afterGuard(mark []byte) []byte { return append(mark, 1) }

// lock makes a transaction conflict with others that tidy a stretch which has the boundary. The key is never written.
func (x *Index) lock(tx kv.Tx, n int, bound []byte) {
	key := append(concat(x.level(n), bound), afterKey)
	tx.AddReadConflictRange(key, kv.AppendKeyAfter(nil, key))
	tx.AddWriteConflictRange(key, kv.AppendKeyAfter(nil, key))
}

// afterKey, appended to a row's key, makes a key that is no row's and sorts just after it.
const afterKey = 0xff

// stretchesBefore finds the last settled boundary before each of some others, each once.
func (x *Index) stretchesBefore(r kv.ReadTx, n int, bounds [][]byte) ([][]byte, error) {
	level := x.level(n)
	its := make([]kv.Iterator, len(bounds))
	for i, bound := range bounds {
		its[i] = r.Range(level, concat(level, bound), kv.RangeOptions{Reverse: true})
		defer its[i].Close()
	}
	var firsts [][]byte
	for _, it := range its {
		first := []byte(nil)
		for first == nil && it.Next() {
			if _, state := Parse(it.Value()); state == Settled {
				first = append([]byte{}, it.Key()[len(level):]...)
			}
		}
		if err := it.Err(); err != nil {
			return nil, err
		}
		if len(firsts) == 0 || !bytes.Equal(first, firsts[len(firsts)-1]) {
			firsts = append(firsts, first)
		}
	}
	return firsts, nil
}

// stretchesFrom reads the stretches from settled boundaries up to the next ones.
func (x *Index) stretchesFrom(r kv.ReadTx, n int, firsts [][]byte) ([]stretch, error) {
	level := x.level(n)
	its := make([]kv.Iterator, len(firsts))
	for i, first := range firsts {
		its[i] = r.Range(kv.AppendKeyAfter(nil, concat(level, first)), rangeEnd(level, nil), kv.RangeOptions{})
		defer its[i].Close()
	}
	stretches := make([]stretch, len(firsts))
	for i, it := range its {
		s := &stretches[i]
		s.parts = []stretchPart{{key: firsts[i]}}
		if err := s.read(it, len(level)); err != nil {
			return nil, err
		}
		s.settle = len(s.parts) > 1
		s.shorten(x.tidied)
	}
	return stretches, nil
}

// read reads what comes after the first boundary.
func (s *stretch) read(it kv.Iterator, prefix int) error {
	for it.Next() {
		key := bytes.Clone(it.Key()[prefix:])
		switch weight, state := Parse(it.Value()); {
		case state == Settled:
			s.next = key
			return nil
		case state&Retired != 0:
			last := &s.parts[len(s.parts)-1]
			last.retired = append(last.retired, weighed{key, weight})
		default:
			s.parts = append(s.parts, stretchPart{key: key, open: true, weight: weight})
		}
	}
	return it.Err()
}

// shorten leaves the last ones of too many boundaries: with their rows, which the first one gives them, they are
// settled, and the stretch ends before them. Where there are too many retired ones only those go.
func (s *stretch) shorten(most int) {
	from := len(s.parts)
	for n := 0; from > 1 && n < most; n += 1 + len(s.parts[from].retired) {
		from--
	}
	if from > 1 {
		s.cut = true
		s.parts = append([]stretchPart{{key: s.parts[0].key}}, s.parts[from:]...)
	}
	for i := range s.parts {
		if p := &s.parts[i]; len(p.retired) > most {
			p.retired, s.settle = p.retired[:most], false
		}
	}
}

// settledBelow lets those stretches alone whose boundaries are not settled on the levels below n.
func (x *Index) settledBelow(r kv.ReadTx, n int, stretches []stretch) error {
	var keys [][]byte
	var of []*stretch // of each key
	for i := range stretches {
		s := &stretches[i]
		if !s.settle {
			continue
		}
		for _, p := range s.parts[1:] {
			for below := 1; below < n; below++ {
				keys, of = append(keys, concat(x.level(below), p.key)), append(of, s)
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	values, err := r.GetMany(keys)
	if err != nil {
		return err
	}
	for i, v := range values {
		if _, state := Parse(v); v == nil || state != Settled {
			of[i].settle = false
		}
	}
	return nil
}
