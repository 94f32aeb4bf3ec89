package audience

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/revtree"
)

const (
	// MostGone is of how many principals a document remembers that it is gone for them.
	MostGone = 64
	// MostNamed is how many principals the leaves of a document name together: its winner's record
	// has all of them.
	MostNamed = 2 * access.MaxEntries
	// mostGoneBytes bounds the revisions in a row that a document is gone.
	mostGoneBytes = 32 << 10
)

// Edit is a change of a document's leaves.
type Edit struct {
	ID string
	// Before and After are the leaves, the winner of Before last.
	Before, After []formats.Leaf
	// Purge says that leaves are forgotten, which nobody is told.
	Purge bool
}

// visible is the winner of the leaves that name a principal, and their number.
func visible(leaves []formats.Leaf, principal string) (winner *formats.Leaf, n int) {
	for i := range leaves {
		l := &leaves[i]
		if _, named := slices.BinarySearch(l.Access, principal); !named {
			continue
		}
		if n++; winner == nil || revtree.Compare(&l.Leaf, &winner.Leaf) < 0 {
			winner = l
		}
	}
	return winner, n
}

// gone are the leaves that name a principal, the deleted ones too: a client may not have heard of
// them. There are fewer, of the deleted ones first, where the row would be too long.
func gone(leaves []formats.Leaf, principal string) (revs []compat.Rev) {
	size := 0
	for _, deleted := range []bool{false, true} {
		for i := range leaves {
			l := &leaves[i]
			if _, named := slices.BinarySearch(l.Access, principal); !named || l.Deleted != deleted {
				continue
			}
			if size += 10 + len(l.Rev.Hash); size <= mostGoneBytes || len(revs) == 0 {
				revs = append(revs, l.Rev)
			}
		}
	}
	slices.SortFunc(revs, func(a, b compat.Rev) int { return b.Compare(a) })
	return revs
}

// principals are all that leaves name, sorted.
func principals(leaves []formats.Leaf) []string {
	var all []string
	for i := range leaves {
		all = append(all, leaves[i].Access...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// before are the stored sights.
func (e *Edit) before() []formats.Sight {
	if len(e.Before) == 0 {
		return nil
	}
	return e.Before[len(e.Before)-1].Sights
}

// Sights are those of the winner after the edit, sorted by principal. A sequence that is zero is
// that of the edit.
func (e *Edit) Sights() []formats.Sight {
	names := principals(e.After)
	sights := make([]formats.Sight, 0, len(names))
	for _, p := range names {
		sights = append(sights, formats.Sight{Principal: p})
	}
	var left []formats.Sight // of principals who see the document no more
	for _, old := range e.before() {
		i, sees := slices.BinarySearch(names, old.Principal)
		switch {
		case sees && !old.Gone:
			sights[i].Seq = old.Seq
		case sees: // and again
		case old.Gone:
			left = append(left, old)
		case !e.Purge && len(gone(e.Before, old.Principal)) > 0:
			left = append(left, formats.Sight{Principal: old.Principal, Gone: true})
		}
	}
	slices.SortStableFunc(left, func(a, b formats.Sight) int { // those of this edit first
		switch {
		case a.Seq == b.Seq:
			return 0
		case a.Seq == (compat.Seq{}) || b.Seq != (compat.Seq{}) && b.Seq.Before(a.Seq):
			return -1
		}
		return 1
	})
	sights = append(sights, left[:min(len(left), MostGone)]...)
	sort.Slice(sights, func(i, j int) bool { return sights[i].Principal < sights[j].Principal })
	return sights
}

// Put writes the rows of an edit whose leaves are stored at seq, a sequence that the commit fills
// in; sights are those of the winner that was stored, none if no leaf is left.
func (w *Writer) Put(tx kv.Tx, x Index, e *Edit, sights []formats.Sight, seq compat.Seq) {
	var was compat.Seq
	if n := len(e.Before); n > 0 {
		was = e.Before[n-1].Seq
	}
	for _, old := range e.before() {
		w.clear(tx, x, e, old, was, sights)
	}
	for _, s := range sights {
		switch {
		case !s.Gone:
			winner, n := visible(e.After, s.Principal)
			row := Row{ID: e.ID, Winner: winner.Rev, Deleted: winner.Deleted, Leaves: n}
			w.set(tx, x, s.Principal, seq, &row)
			if d := w.of(s.Principal); winner.Deleted {
				d.deleted++
			} else {
				d.live++
				tx.Set(x.listed(s.Principal, e.ID), formats.EncodeWinner(nil, winner.Rev))
			}
		case s.Seq == (compat.Seq{}):
			revs := gone(e.Before, s.Principal)
			row := Row{ID: e.ID, Deleted: true, Leaves: len(revs), Gone: revs}
			w.set(tx, x, s.Principal, seq, &row)
		}
	}
}

// clear removes what a principal has of the document so far, unless it stays.
func (w *Writer) clear(
	tx kv.Tx, x Index, e *Edit, old formats.Sight, was compat.Seq, sights []formats.Sight,
) {
	i, found := slices.BinarySearchFunc(sights, old.Principal, func(s formats.Sight, p string) int {
		return cmp.Compare(s.Principal, p)
	})
	if old.Gone {
		if !found || !sights[i].Gone {
			tx.Clear(x.row(old.Principal, old.Seq))
		}
		return
	}
	tx.Clear(x.row(old.Principal, was))
	winner, _ := visible(e.Before, old.Principal)
	d := w.of(old.Principal)
	if winner.Deleted {
		d.deleted--
		return
	}
	d.live--
	if a, _ := visible(e.After, old.Principal); a == nil || a.Deleted {
		tx.Clear(x.listed(old.Principal, e.ID))
	}
}

func (w *Writer) set(tx kv.Tx, x Index, principal string, seq compat.Seq, row *Row) {
	key := x.row(principal, seq)
	tx.SetVersionstampedKey(key, x.Keys.SeqStampOffset(key), row.encode())
	w.of(principal).wrote = true
}

// Writer collects what the edits of a transaction change in the counts of principals. The zero
// value is ready.
type Writer struct{ deltas map[string]*delta }

type delta struct {
	live, deleted int64
	wrote         bool // a row
}

func (w *Writer) of(principal string) *delta {
	if w.deltas == nil {
		w.deltas = make(map[string]*delta)
	}
	d := w.deltas[principal]
	if d == nil {
		d = new(delta)
		w.deltas[principal] = d
	}
	return d
}

// Finish writes the counts; last is the last sequence of the transaction.
func (w *Writer) Finish(tx kv.Tx, x Index, last compat.Seq) {
	for _, p := range slices.Sorted(maps.Keys(w.deltas)) {
		d := w.deltas[p]
		keyspace.AddCounter(tx, x.counter(p, countLive), d.live)
		keyspace.AddCounter(tx, x.counter(p, countDeleted), d.deleted)
		if d.wrote {
			tx.SetVersionstampedValue(x.last(p), keyspace.AppendSeq(nil, last), 1)
		}
	}
	w.deltas = nil
}
