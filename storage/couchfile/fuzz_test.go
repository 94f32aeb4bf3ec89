package couchfile

import (
	"testing"

	"github.com/klauspost/compress/snappy"

	"github.com/settee-db/settee/compat/ejson"
)

// FuzzTerm: a record is a term whose JSON text is valid, or an error; skip and appendJSON agree where
// it ends.
func FuzzTerm(f *testing.F) {
	f.Add(plain(tup{list{tup{"a", list{1, 2, "x", tup{list{}}}}}}))
	large := int64(1 << 40)
	f.Add(append([]byte{snappyPrefix}, snappy.Encode(nil, plain(list{-1, int(large)}))...))
	f.Add([]byte{termVersion, tagMap, 0, 0, 0, 1, tagNil, tagNil})
	f.Add([]byte{termVersion, compressedTerm, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, record []byte) {
		c := newCursor(record)
		other := c
		text := c.appendJSON(nil)
		if c.err != nil {
			return
		}
		if _, err := ejson.Parse(text); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if other.skip(); other.err != nil || len(other.rest) != len(c.rest) {
			t.Fatalf("%q: %d bytes are left, of skip %d: %v", text, len(c.rest), len(other.rest), other.err)
		}
	})
}

// FuzzSeq: any text is a sequence, or none.
func FuzzSeq(f *testing.F) {
	f.Add("512-g1AAAABIeJzLYWBgYMxgTmHgSU5zMDQy1zMAQsMcoChTIkMeC8N_IMjKYE4C8hlygaLsiZZmZkmmJmgasgBBlhBa")
	f.Add("23")
	f.Add("0-AAAA==")
	f.Fuzz(func(t *testing.T, text string) {
		if shards, ok := ParseSeq(text); ok && len(shards) == 0 {
			t.Fatal("a sequence without shards")
		}
	})
}

// FuzzRows: any bytes are a header, a row of the tree of ids, the attachments of a document or a
// purge, or are an error.
func FuzzRows(f *testing.F) {
	none := atom("nil")
	f.Add(plain(tup{atom("db_header"), 8, 1, 0, tup{9, tup{1, 0}}, none, none, none, none, none, 1000, "uuid"}))
	f.Add(plain(tup{1, 0, list{}, list{tup{1, tup{hash1, tup{0, 7, 1}, list{tup{"x", list{}, list{}}}}}}}))
	f.Add(plain(list{tup{"f", "text/plain", list{1, tup{2, 5}}, 11, 12, 2, hash1, atom("gzip")}}))
	f.Fuzz(func(t *testing.T, record []byte) {
		_, _ = parseHeader(0, record)
		w, c := window{}, newCursor(record)
		if _, err := w.document("x", &c); err == nil && len(w.leaves) == 0 {
			t.Fatal("a document without revisions")
		}
		c = newCursor(record)
		c.attachments()
		c = newCursor(record)
		c.hashes()
	})
}

// TestParseSeq: a sequence of a real server says which shards it is of.
func TestParseSeq(t *testing.T) {
	shards, ok := ParseSeq("512-g1AAAABIeJzLYWBgYMxgTmHgSU5zMDQy1zMAQsMcoChTIkMeC8N_IMjKYE4C8hlygaLsiZZmZkmmJmgasgBBlhBa")
	if !ok || len(shards) != 1 || shards[0].High != 1<<32-1 || shards[0].Seq != 512 || len(shards[0].UUID) != 7 {
		t.Fatal(shards, ok)
	}
	for _, text := range []string{"", "12", "x-", "1-AA", "1-g1", "9-!!!"} {
		if shards, ok := ParseSeq(text); ok {
			t.Error(text, shards)
		}
	}
}
