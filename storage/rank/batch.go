package rank

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/storage/kv"
)

// Batch collects the rows that a transaction adds, removes and changes, to be applied in one walk.
type Batch struct{ rows []row }

type row struct {
	key   []byte
	delta Weight
}

// goes tells that the row is removed.
func (r row) goes() bool { return r.delta.Rows < 0 }

// Add notes that a row comes (Rows 1), goes (-1), or changes its weight or nothing but its value; each key at most once
// in a transaction. The key is without the prefix of the rows.
func (b *Batch) Add(key []byte, delta Weight) { b.rows = append(b.rows, row{bytes.Clone(key), delta}) }

// Touch is called for a boundary when rows between it and the next one change, or the next one does; at times twice.
type Touch func(level int, bound []byte, how Touched)

// Touched is what happens to a boundary.
type Touched byte

// What happens to boundaries.
const (
	Changed Touched = iota // rows after it change
	Opened                 // it is new, or gives rows to a new one, or takes over those of one that goes
	Gone                   // its row goes, and so does the boundary
)

// Apply writes the weights, and forgets the rows. It must run before the rows themselves are written in the
// transaction. touch may be nil.
func (b *Batch) Apply(tx kv.Tx, x *Index, touch Touch) error {
	if len(b.rows) == 0 {
		return nil
	}
	slices.SortFunc(b.rows, func(a, c row) int { return bytes.Compare(a.key, c.key) })
	snap := tx.Snapshot()
	levels, err := x.find(snap, b.rows)
	if err != nil {
		return err
	}
	if touch != nil {
		if err := b.touchBefore(tx, snap, x, levels, touch); err != nil {
			return err
		}
	}
	for n := len(x.Levels); n >= 1; n-- { // a level's new weights come from those below as they were
		if err := b.applyLevel(tx, snap, x, n, &levels[n-1], touch); err != nil {
			return err
		}
	}
	b.rows = b.rows[:0]
	return nil
}

// touchBefore calls touch for the boundaries that take over the rows of those that go. It conflicts with boundaries
// made between them.
func (b *Batch) touchBefore(tx kv.Tx, snap kv.ReadTx, x *Index, levels []around, touch Touch) error {
	var list []sought
	for n := range levels {
		for i, r := range b.rows {
			if r.goes() && bytes.Equal(levels[n].bounds[i].key, r.key) {
				list = append(list, sought{n + 1, r.key, true})
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	found, err := x.seek(snap, list)
	if err != nil {
		return err
	}
	for i, s := range list {
		if i > 0 && list[i-1].level == s.level && bytes.Equal(list[i-1].row, found[i]) {
			found[i] = found[i-1] // that one goes as well
		}
		mark := x.mark(s.level)
		tx.AddReadConflictRange(x.guard(s.level, found[i]), concat(mark, s.row))
		touch(s.level, found[i], Opened)
	}
	return nil
}

// applyLevel groups the rows by the boundary before them on level n, and tidies the stretches that need it.
func (b *Batch) applyLevel(tx kv.Tx, snap kv.ReadTx, x *Index, n int, l *around, touch Touch) error {
	var untidy [][]byte
	for i := range l.bounds {
		if l.bounds[i].open {
			untidy = append(untidy, l.bounds[i].key)
		}
	}
	if len(l.retired) > 0 {
		untidy = append(untidy, l.retired[:min(len(l.retired), x.tidied)]...)
		slices.SortFunc(untidy, bytes.Compare)
	}
	if err := x.tidyAll(tx, snap, n, untidy); err != nil {
		return err
	}
	there, err := x.there(snap, n, b.rows, l.bounds)
	if err != nil {
		return err
	}
	for from := 0; from < len(b.rows); {
		to := from + 1
		for to < len(b.rows) && bytes.Equal(l.bounds[to].key, l.bounds[from].key) {
			to++
		}
		x.applySegment(tx, n, segment{l.bounds[from], x.Alone && len(untidy) == 0, b.rows[from:to]}, there, touch)
		from = to
	}
	return nil
}

// opens reports whether a row becomes a boundary of level n.
func (x *Index) opens(n int, r *row, bound []byte) bool {
	return r.delta.Rows > 0 && x.Height(r.key) >= n && !bytes.Equal(r.key, bound)
}

// there gives the states of retired boundaries that rows make boundaries again.
func (x *Index) there(snap kv.ReadTx, n int, rows []row, bounds []bound) (map[string]State, error) {
	var keys [][]byte
	for i := range rows {
		if x.opens(n, &rows[i], bounds[i].key) {
			keys = append(keys, concat(x.level(n), rows[i].key))
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	values, err := snap.GetMany(keys)
	if err != nil {
		return nil, err
	}
	var found map[string]State
	for i, value := range values {
		if value == nil {
			continue
		}
		if found == nil {
			found = make(map[string]State)
		}
		_, state := Parse(value)
		found[string(keys[i][len(x.level(n)):])] = state
	}
	return found, nil
}

// segment is the rows of a batch between two boundaries of a level.
type segment struct {
	first bound
	known bool // the weight of first still holds in the transaction
	rows  []row
}

// applySegment adds the rows, and opens boundaries at those that reach level n and are none yet. A boundary whose row
// goes is retired: nothing is read for it. The weight of the first boundary is written if it is known, else added to.
func (x *Index) applySegment(tx kv.Tx, n int, s segment, there map[string]State, touch Touch) {
	level, mark, bound, rows := x.level(n), x.mark(n), s.first.key, s.rows
	tx.AddReadConflictRange(x.guard(n, bound), afterGuard(concat(mark, rows[len(rows)-1].key)))
	var after Weight // rows from here up to the next boundary
	how := Changed
	for i := len(rows) - 1; i >= 0; i-- {
		after = after.Add(rows[i].delta)
		if !x.opens(n, &rows[i], bound) {
			continue
		}
		key := rows[i].key
		if state, retired := there[string(key)]; retired { // its weight stays in its stretch
			x.lock(tx, n, key)
			x.add(tx, concat(level, key), Open.mark()-state.mark(), after)
		} else {
			x.put(tx, concat(level, key), Open.mark(), after)
		}
		tx.Set(concat(mark, key), nil)
		after, how = Weight{}, Opened
		if touch != nil {
			touch(n, key, Opened)
		}
	}
	var state State
	if rows[0].goes() && bytes.Equal(rows[0].key, bound) {
		state, how = Retired, Gone
		tx.Clear(concat(mark, bound))
	}
	key := concat(level, bound)
	if s.known && after != (Weight{}) {
		tx.AddReadConflictRange(key, kv.AppendKeyAfter(nil, key))
		x.put(tx, key, state.mark(), s.first.weight.Add(after))
	} else {
		x.add(tx, key, state.mark(), after)
	}
	if touch != nil {
		touch(n, bound, how)
	}
}
