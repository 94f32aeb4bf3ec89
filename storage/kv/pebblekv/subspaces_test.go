package pebblekv

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// subspace is the beginning of the keys of a database's subspace.
func subspace(database, tag int64) []byte {
	return tuple.AppendInt(tuple.AppendInt(nil, database), tag)
}

// TestSubspacesApart: what is written to much has tables of its own, beside subspaces with little
// and a key that every transaction writes.
func TestSubspacesApart(t *testing.T) {
	kvtest.Long(t)
	s := openBench(t, Options{MemTableSize: 2 << 20, device: 100 << 30})
	const database, small, large = 100, 5, 6
	const rows = 30_000
	for i := 0; i < rows; i += 200 {
		mustUpdate(t, s, func(tx kv.Tx) error {
			tx.Set(subspace(database, 1), fmt.Append(nil, i))
			for n := i; n < i+200; n++ {
				tx.Set(tuple.AppendInt(subspace(database, small), int64(n)), []byte("row"))
				tx.Set(tuple.AppendInt(subspace(database, large), int64(n)), benchDoc(n))
			}
			return nil
		})
	}
	levels, err := s.db.SSTables()
	if err != nil {
		t.Fatal(err)
	}
	prefix := appendStored(nil, subspace(database, large))
	var own, mixed int
	for _, tables := range levels {
		for _, table := range tables {
			first, last := table.Smallest.UserKey, table.Largest.UserKey
			switch begins, ends := bytes.HasPrefix(first, prefix), bytes.HasPrefix(last, prefix); {
			case begins && ends:
				own++
			case begins || ends || bytes.Compare(first, prefix) < 0 && bytes.Compare(last, prefix) > 0:
				mixed++
			}
		}
	}
	if mixed > 0 || own < 3 {
		t.Errorf("%d tables with the large subspace alone, %d with it and others", own, mixed)
	}
}

// TestSubspacesCounted: a subspace has tables of its own from a quarter of a memtable on, as long as it is
// written to in order.
func TestSubspacesCounted(t *testing.T) {
	const memTable = 8 << 20
	s := newSubspaces(memTable)
	stored := func(tag int64, n int) []byte {
		return appendStored(nil, tuple.AppendInt(subspace(7, tag), int64(n)))
	}
	next := 0
	write := func(tag int64, size int) {
		b := new(pebble.Batch)
		defer b.Close()
		for range 4 {
			if err := b.Set(stored(tag, next), make([]byte, size/4), nil); err != nil {
				t.Fatal(err)
			}
			next++
		}
		if err := b.Set(versionKey, nil, nil); err != nil {
			t.Fatal(err)
		}
		s.wrote(b)
	}
	end := func(key []byte) string {
		_, end, err := s.end(key)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%x", end)
	}
	const nowhere = ""
	begin := fmt.Sprintf("%x", appendStored(nil, subspace(7, 6)))
	after := fmt.Sprintf("%x", appendStored(nil, subspace(7, 7)))

	write(6, memTable/4-1000)
	if got := end(versionKey); got != nowhere {
		t.Errorf("with less than a quarter a table ends at %s", got)
	}
	write(5, memTable/16)
	write(6, 1000)
	for _, c := range []struct {
		key  []byte
		want string
	}{
		{versionKey, begin},
		{stored(5, 1), begin},
		{stored(6, 0), after},
		{stored(6, 9), after},
		{stored(7, 1), nowhere},
		{appendStored(nil, subspace(8, 1)), nowhere},
	} {
		if got := end(c.key); got != c.want {
			t.Errorf("a table that begins with %x ends at %q, want %q", c.key, got, c.want)
		}
	}
	s.flushed()
	if got := end(versionKey); got != nowhere {
		t.Errorf("half of it later a table ends at %q", got)
	}
	for range 8 {
		next = 0
		write(6, memTable/8)
	}
	if got := end(versionKey); got != nowhere {
		t.Errorf("with keys before those of a table a table ends at %q", got)
	}
	for range 8 {
		s.flushed()
	}
	if len(s.counts) > 0 {
		t.Errorf("%d subspaces are counted that nobody writes to", len(s.counts))
	}
	for tag := range int64(2 * maxSubspaces) {
		write(tag, 1000)
	}
	if len(s.counts) != maxSubspaces {
		t.Errorf("%d subspaces are counted", len(s.counts))
	}
}

// Keys of others than settee's databases are in no subspace.
func TestSubspaceOf(t *testing.T) {
	for _, c := range []struct{ key, want []byte }{
		{nil, nil},
		{versionKey, nil},
		{appendStored(nil, "text"), nil},
		{appendStored(nil, tuple.AppendInt(nil, 7)), nil},
		{appendStored(nil, ""), nil},
		{appendStored(nil, subspace(7, 6)), appendStored(nil, subspace(7, 6))},
		{appendStored(nil, tuple.AppendString(subspace(1<<40, 6), "id")), appendStored(nil, subspace(1<<40, 6))},
	} {
		if got := subspaceOf(c.key); !bytes.Equal(got, c.want) {
			t.Errorf("%q is in the subspace %q, want %q", c.key, got, c.want)
		}
	}
}
