package pebblekv

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// TestCompactRange: what is deleted in a range takes no space after it, beside writers, and what
// lies around it stays where it is.
func TestCompactRange(t *testing.T) {
	s := openBench(t, Options{MemTableSize: 512 << 10, device: 100 << 30})
	key := func(space string, i int) []byte { return fmt.Appendf(nil, "%s%06d", space, i) }
	const rows, kept = 20_000, 5
	for i := 0; i < rows; i += 500 {
		mustUpdate(t, s, func(tx kv.Tx) error {
			for n := range 500 {
				tx.Set(key("a", i+n), benchDoc(i+n))
				tx.Set(key("b", i+n), benchDoc(i+n))
			}
			return nil
		})
	}
	size := func(begin, end string) uint64 {
		n, err := s.db.EstimateDiskUsage(appendStored(nil, begin), appendStored(nil, end))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	compact := func() {
		if err := s.CompactRange(t.Context(), []byte("a"), []byte("b")); err != nil {
			t.Fatal(err)
		}
	}
	compact()
	whole, beside := size("a", "b"), size("b", "c")
	var group sync.WaitGroup
	group.Go(func() {
		for i := 0; i < rows; i += 1000 {
			mustUpdate(t, s, func(tx kv.Tx) error {
				for n := i; n < i+1000; n++ {
					if n%kept != 0 {
						tx.Clear(key("a", n))
					}
				}
				return nil
			})
		}
	})
	compact()
	group.Wait()
	compact()
	if now := size("a", "b"); now > whole/3 {
		t.Errorf("%d bytes of %d are left, with a fifth of the rows", now, whole)
	}
	if now := size("b", "c"); now < beside/2 {
		t.Errorf("beside the range there are %d bytes of %d", now, beside)
	}
	tables, err := s.db.SSTables()
	if err != nil {
		t.Fatal(err)
	}
	for level, list := range tables[:len(tables)-1] {
		for _, table := range list {
			if bytes.HasPrefix(table.Smallest.UserKey, appendStored(nil, "a")) {
				t.Errorf("level %d has a table from %q to %q", level, table.Smallest.UserKey, table.Largest.UserKey)
			}
		}
	}
	err = s.View(t.Context(), func(tx kv.ReadTx) error {
		it := tx.Range([]byte("a"), []byte("b"), kv.RangeOptions{})
		defer it.Close()
		i := 0
		for ; it.Next(); i += kept {
			if !bytes.Equal(it.Key(), key("a", i)) || !bytes.Equal(it.Value(), benchDoc(i)) {
				return fmt.Errorf("row %d is %q", i, it.Key())
			}
		}
		if i != rows {
			return fmt.Errorf("the rows end before %d", i)
		}
		return it.Err()
	})
	if err != nil {
		t.Error(err)
	}
}

// TestPiecesOfARange: the pieces of a range meet, and none but the last is smaller than asked for,
// nor much larger.
func TestPiecesOfARange(t *testing.T) {
	kvtest.Long(t)
	s := openBench(t, Options{MemTableSize: 256 << 10, device: 100 << 30})
	for i := 0; i < 30_000; i += 500 {
		mustUpdate(t, s, func(tx kv.Tx) error {
			for n := i; n < i+500; n++ {
				writeDoc(tx, n, benchDoc(n))
			}
			return nil
		})
	}
	first, last := appendStored(nil, "\x15"), appendStored(nil, "\x16")
	if err := s.db.Compact(t.Context(), first, last, true); err != nil {
		t.Fatal(err)
	}
	tables, err := s.db.SSTables()
	if err != nil {
		t.Fatal(err)
	}
	var largest uint64
	for _, table := range tables[len(tables)-1] {
		largest = max(largest, table.Size)
	}
	pieces, err := s.pieces(first, last, largest)
	if err != nil {
		t.Fatal(err)
	}
	if len(pieces) < 2 {
		t.Fatalf("%d pieces of %d tables", len(pieces), len(tables[len(tables)-1]))
	}
	for i, piece := range pieces {
		if !bytes.Equal(piece.first, first) {
			t.Errorf("piece %d begins at %q, the one before ends at %q", i, piece.first, first)
		}
		size, err := s.db.EstimateDiskUsage(piece.first, piece.last)
		if err != nil {
			t.Fatal(err)
		}
		if i < len(pieces)-1 && size < largest/2 || size > 3*largest {
			t.Errorf("piece %d has %d bytes, tables up to %d", i, size, largest)
		}
		first = piece.last
	}
	if !bytes.Equal(first, last) {
		t.Errorf("the pieces end at %q", first)
	}
}
