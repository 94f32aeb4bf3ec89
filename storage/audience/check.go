package audience

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// checkWindow is how many keys Tally.Rest reads from one snapshot.
const checkWindow = 1000

// Tally verifies what is stored for the principals of a database, for package verify: first document
// by document, what each of them has to have; then that there is nothing else. It keeps a few
// numbers of each principal.
type Tally struct{ of map[string]*tally }

// tally is what a principal has to have.
type tally struct{ rows, live, deleted int64 }

func (t *Tally) principal(name string) *tally {
	if t.of == nil {
		t.of = make(map[string]*tally)
	}
	if t.of[name] == nil {
		t.of[name] = new(tally)
	}
	return t.of[name]
}

// Document tells what is wrong with the rows of a document, in words; leaves ascend.
func (t *Tally) Document(
	r kv.ReadTx, x Index, id string, leaves []formats.Leaf,
) (wrong []string, err error) {
	for i := range leaves {
		if l := &leaves[i]; l.Access == nil || !slices.IsSorted(l.Access) {
			wrong = append(wrong, fmt.Sprintf("leaf %s does not tell who may read it", l.Rev))
		}
	}
	names, winner := principals(leaves), &leaves[len(leaves)-1]
	var keys, want [][]byte
	var sees []string
	for _, s := range winner.Sights {
		t.principal(s.Principal).rows++
		if s.Gone {
			keys, want = append(keys, x.row(s.Principal, s.Seq)), append(want, nil)
			continue
		}
		sees = append(sees, s.Principal)
		best, n := visible(leaves, s.Principal)
		if best == nil {
			continue // told below
		}
		row := Row{ID: id, Winner: best.Rev, Deleted: best.Deleted, Leaves: n}
		keys, want = append(keys, x.row(s.Principal, winner.Seq)), append(want, row.encode())
		if best.Deleted {
			t.principal(s.Principal).deleted++
			continue
		}
		t.principal(s.Principal).live++
		keys = append(keys, x.listed(s.Principal, id))
		want = append(want, formats.EncodeWinner(nil, best.Rev))
	}
	if !slices.Equal(sees, names) {
		wrong = append(wrong, fmt.Sprintf("%q see it by its winner, %q by its leaves", sees, names))
	}
	values, err := r.GetMany(keys)
	if err != nil {
		return nil, err
	}
	for i, value := range values {
		row, err := ParseRow(value)
		gone := want[i] == nil && err == nil && row.Gone != nil && row.ID == id
		if !gone && (want[i] == nil || !bytes.Equal(value, want[i])) {
			wrong = append(wrong, fmt.Sprintf("a row is missing or differs: %q", keys[i]))
		}
	}
	return wrong, nil
}

// Rest compares all that is stored for principals with what the documents asked for, and tells what
// differs; it is right if the database is not written to meanwhile.
func (t *Tally) Rest(ctx context.Context, engine kv.Store, x Index) (wrong []string, err error) {
	found := make(map[string]*tally)
	counters := make(map[string]*tally)
	lasts := make(map[string]compat.Seq) // of rows, then of principals without a right last one
	of := func(m map[string]*tally, p string) *tally {
		if m[p] == nil {
			m[p] = new(tally)
		}
		return m[p]
	}
	prefix := x.Keys.Sub(nil, keyspace.TagAccess)
	begin, end := keyspace.Children(prefix)
	err = kv.Walk(ctx, engine, begin, end, checkWindow, func(_ kv.ReadTx, window []kv.Row) error {
		for _, row := range window {
			part, rest, err := tuple.ReadInt(row.Key[len(prefix):])
			if err != nil || part >= subLocals { // rows, lists and counts are before
				continue
			}
			p, rest, err := tuple.ReadString(rest)
			if err != nil {
				return keyspace.Corrupt("key of a principal", err)
			}
			switch {
			case part == subRows:
				of(found, p).rows++
				if lasts[p], err = keyspace.ParseSeq(row.Key); err != nil {
					return err
				}
			case part == subList:
				of(found, p).live++
			case len(rest) == 0:
				last, err := keyspace.ParseSeq(row.Value)
				if err != nil {
					return err
				}
				if !last.Before(lasts[p]) {
					delete(lasts, p)
				}
			default:
				switch n, _, _ := tuple.ReadInt(rest); n {
				case countLive:
					of(counters, p).live = keyspace.Counter(row.Value)
				case countDeleted:
					of(counters, p).deleted = keyspace.Counter(row.Value)
				}
			}
		}
		return nil
	})
	for p := range t.of {
		_, _ = of(found, p), of(counters, p)
	}
	for p := range counters {
		_ = of(found, p)
	}
	for p, has := range found {
		want, counted := *t.principal(p), *of(counters, p)
		if has.rows != want.rows || has.live != want.live {
			wrong = append(wrong, fmt.Sprintf("%q has %d rows, %d in the list, not %d and %d",
				p, has.rows, has.live, want.rows, want.live))
		}
		if counted.live != want.live || counted.deleted != want.deleted {
			wrong = append(wrong, fmt.Sprintf("%q counts %d and %d deleted documents, not %d and %d",
				p, counted.live, counted.deleted, want.live, want.deleted))
		}
	}
	for p := range lasts {
		wrong = append(wrong, fmt.Sprintf("%q has a row after its last sequence", p))
	}
	return wrong, err
}
