package counts

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// written are the entries of the log that changes make, each with its key.
func written(tb testing.TB, c *Changes, second int64) (entries [][2][]byte) {
	tb.Helper()
	store, keys := memkv.New(), keyspace.NewSpace(7)
	_, err := store.Update(tb.Context(), func(tx kv.Tx) error {
		c.Write(tx, keys, keyspace.FirstIncarnation, second)
		return nil
	})
	if err == nil {
		err = store.View(tb.Context(), func(tx kv.ReadTx) error {
			begin, end := keyspace.Children(keys.CountLog(nil))
			it := tx.Range(begin, end, kv.RangeOptions{})
			defer it.Close()
			for it.Next() {
				entries = append(entries, [2][]byte{bytes.Clone(it.Key()), bytes.Clone(it.Value())})
			}
			return it.Err()
		})
	}
	if err := errors.Join(err, store.Close()); err != nil {
		tb.Fatal(err)
	}
	return entries
}

// FuzzCountEntry: whatever an entry has, it is read or corrupt, and what is read gives the same
// changes when it is written again.
func FuzzCountEntry(f *testing.F) {
	c := Changes{Added: 3, Besides: -2}
	c.Remove(compat.Seq{Incarnation: 1})
	c.List("", 1)
	c.List("doc", -1)
	for _, e := range written(f, &c, 1_700_000_000) {
		f.Add(e[0], e[1])
	}
	f.Add([]byte{}, []byte{})
	f.Add(make([]byte, keyspace.SeqSize), []byte{logFormat, countListed, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add(make([]byte, keyspace.SeqSize), []byte{logFormat, countTime, 1})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		e, err := parseCountEntry(key, value)
		if err != nil {
			if !errors.Is(err, kv.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if e.added < 0 || e.second < 0 || e.added == 0 && e.besides == 0 && len(e.removed)+len(e.ids) == 0 {
			return // no Changes has that
		}
		again := Changes{Added: e.added, Besides: e.besides, removed: e.removed, ids: e.ids}
		var sum entry
		for _, w := range written(t, &again, e.second) {
			part, err := parseCountEntry(w[0], w[1])
			if err != nil {
				t.Fatal(err)
			}
			sum.added, sum.besides = sum.added+part.added, sum.besides+part.besides
			sum.second = max(sum.second, part.second)
			sum.removed, sum.ids = append(sum.removed, part.removed...), append(sum.ids, part.ids...)
		}
		sum.seq = e.seq
		if got, want := fmt.Sprintf("%+v", sum), fmt.Sprintf("%+v", e); got != want {
			t.Errorf("%q: %s, and again %s", value, want, got)
		}
	})
}
