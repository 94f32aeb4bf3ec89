package rank

import (
	"bytes"

	"github.com/settee-db/settee/storage/kv"
)

// maxTidied bounds the boundaries that are looked at in one stretch, and the stretches of a level in one transaction.
const maxTidied = 500

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

// tidyAll tidies the stretches of boundaries of level n that are not settled, in order.
func (x *Index) tidyAll(tx kv.Tx, snap kv.ReadTx, n int, bounds [][]byte) error {
	var done []byte // up to there
	for _, bound := range bounds {
		if done != nil && bytes.Compare(bound, done) <= 0 {
			continue
		}
		var err error
		if done, err = x.tidy(tx, snap, n, bound); err != nil {
			return err
		}
	}
	return nil
}

// tidy gives the open boundaries of a stretch their rows, unless one of them is still open on a lower level: one that
// is settled is so on all levels below. It takes retired boundaries away, whose weight goes to the one before. bound is
// one of either. It returns the last boundary of the stretch that it saw.
func (x *Index) tidy(tx kv.Tx, snap kv.ReadTx, n int, bound []byte) (last []byte, err error) {
	first, err := x.stretchBefore(snap, n, bound)
	if err != nil {
		return nil, err
	}
	parts, next, whole, err := x.stretchFrom(snap, n, first)
	if err != nil {
		return nil, err
	}
	settle := whole && len(parts) > 1
	if settle {
		if settle, err = x.settledBelow(snap, n, parts[1:]); err != nil {
			return nil, err
		}
	}
	var rows []Weight
	if settle {
		if rows, err = x.weighParts(snap, n, parts, next); err != nil {
			return nil, err
		}
	}
	var moved Weight
	gains := make([]Weight, len(parts))
	for i := len(parts) - 1; i >= 0; i-- {
		p := &parts[i]
		last = maxKey(last, p.key)
		gains[i] = p.rest()
		if i == 0 {
			gains[0] = gains[0].Sub(moved)
			break
		}
		if !settle {
			continue
		}
		found := rows[i].Sub(p.weight).Sub(gains[i]) // when it was made
		gains[i] = gains[i].Add(found)
		moved = moved.Add(found)
	}
	for i := range parts {
		p := &parts[i]
		var mark int64
		if p.open && settle {
			mark = -Open.mark()
		}
		x.lock(tx, n, p.key)
		for _, r := range p.retired {
			x.remove(tx, n, p.key, r.key)
			last = maxKey(last, r.key)
		}
		x.add(tx, concat(x.level(n), p.key), mark, gains[i])
	}
	return last, nil
}

// weighParts weighs the rows of the parts but the first, up to next, in one range: the rows of level 1, and on others
// the weights of the level below, where all of these boundaries are settled.
func (x *Index) weighParts(snap kv.ReadTx, n int, parts []stretchPart, next []byte) ([]Weight, error) {
	sums := make([]Weight, len(parts))
	prefix := x.Rows
	if n > 1 {
		prefix = x.level(n - 1)
	}
	it := snap.Range(concat(prefix, parts[1].key), rangeEnd(prefix, next), kv.RangeOptions{WantAll: true})
	defer it.Close()
	at := 1
	for it.Next() {
		key := it.Key()[len(prefix):]
		for at+1 < len(parts) && bytes.Compare(parts[at+1].key, key) <= 0 {
			at++
		}
		w := Weight{Rows: 1}
		switch {
		case n > 1:
			w, _ = Parse(it.Value())
		case x.wide():
			var err error
			if w, err = x.Weigh(key, it.Value()); err != nil {
				return nil, err
			}
		}
		sums[at] = sums[at].Add(w)
	}
	return sums, it.Err()
}

func maxKey(a, b []byte) []byte {
	if bytes.Compare(a, b) < 0 {
		return b
	}
	return a
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

// stretchBefore finds the last settled boundary before another one.
func (x *Index) stretchBefore(r kv.ReadTx, n int, bound []byte) ([]byte, error) {
	level := x.level(n)
	it := r.Range(level, concat(level, bound), kv.RangeOptions{Reverse: true})
	defer it.Close()
	for it.Next() {
		if _, state := Parse(it.Value()); state == Settled {
			return bytes.Clone(it.Key()[len(level):]), nil
		}
	}
	return nil, it.Err()
}

// stretchFrom reads the stretch from a settled boundary up to the next one, nil if there is none; whole is false if
// there are too many.
func (x *Index) stretchFrom(
	r kv.ReadTx,
	n int,
	first []byte,
) (parts []stretchPart, next []byte, whole bool, err error) {
	level := x.level(n)
	it := r.Range(kv.AppendKeyAfter(nil, concat(level, first)), rangeEnd(level, nil), kv.RangeOptions{Limit: maxTidied})
	defer it.Close()
	parts = []stretchPart{{key: first}}
	read := 0
	for ; it.Next(); read++ {
		key := bytes.Clone(it.Key()[len(level):])
		switch weight, state := Parse(it.Value()); {
		case state == Settled:
			return parts, key, true, nil
		case state&Retired != 0:
			last := &parts[len(parts)-1]
			last.retired = append(last.retired, weighed{key, weight})
		default:
			parts = append(parts, stretchPart{key: key, open: true, weight: weight})
		}
	}
	return parts, nil, read < maxTidied, it.Err()
}

// settledBelow reports whether boundaries are settled on the levels below n.
func (x *Index) settledBelow(r kv.ReadTx, n int, parts []stretchPart) (bool, error) {
	var keys [][]byte
	for i := range parts {
		for below := 1; below < n; below++ {
			keys = append(keys, concat(x.level(below), parts[i].key))
		}
	}
	values, err := r.GetMany(keys)
	if err != nil {
		return false, err
	}
	for _, v := range values {
		if _, state := Parse(v); v == nil || state != Settled {
			return false, nil
		}
	}
	return true, nil
}
