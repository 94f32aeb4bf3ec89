package storage

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/revtree"
)

// TestRecordOfASplitDatabase: what older versions wrote behind the record of a database that they had split is passed
// over.
func TestRecordOfASplitDatabase(t *testing.T) {
	rec := keyspace.Record{Prefix: 40, Created: time.UnixMicro(7).UTC(), Q: 2, N: 1, RevsLimit: 9, Partitioned: true}
	old := binary.AppendUvarint(append(rec.Encode(), 0), 1<<30)
	old[1] |= 2
	got, err := keyspace.ParseRecord(old)
	must(t, err)
	want(t, "record", got == rec, true)
}

// FuzzValues feeds every parser of stored values: they may fail but not panic, and what they accept is written back the
// same.
func FuzzValues(f *testing.F) {
	rec := keyspace.Record{Prefix: 40, Q: 2, N: 1, RevsLimit: 1000, PurgedInfosLimit: 1000, Partitioned: true}
	leaf := leafRecord{
		Leaf:     revtree.Leaf{Ancestors: revtree.NewLine(1, []string{"0123456789abcdef"})},
		winner:   true,
		stored:   true,
		external: 7,
		active:   8,
	}
	odd := leafRecord{Leaf: revtree.Leaf{Ancestors: revtree.NewLine(1, []string{"a", ""})}}
	whole := leaf
	whole.entry = (&entry{body: emptyBody}).encode(nil)
	change := changeValue{id: "a", winner: compat.Rev{Pos: 3, Hash: "x"}, deleted: true, leaves: 2, kilobytes: 7}
	atts := []compat.Attachment{{Name: "n", Type: "t", Ref: "r", RevPos: 1, Length: 2, EncodedLength: -1}}
	inline := entry{atts: atts, body: emptyBody, deleted: true}
	there := blob{ref: "0123456789abcdef", length: 7}
	apart := entry{attsApart: there, bodyApart: there}
	for _, seed := range [][]byte{
		nil, rec.Encode(), leaf.encode(nil), odd.encode(nil), change.encode(nil),
		encodeWinner(nil, change.winner), encodeListed(nil, change.winner, 7), whole.encode(nil),
		inline.encode(nil), apart.encode(nil), {localInline, 1, '1', '{', '}'},
		packed.AppendText(packed.AppendText(nil, "id"), string(encodeWinner(nil, change.winner))),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := keyspace.ParseRecord(b); err == nil {
			if again, err := keyspace.ParseRecord(r.Encode()); err != nil || !reflect.DeepEqual(again, r) {
				t.Errorf("record %+v, then %+v, %v", r, again, err)
			}
		}
		key := keyspace.Space("").Leaf(nil, keyspace.TagRevs, "", false, compat.Rev{Pos: 2, Hash: "h"})
		suffix := key[len(keyspace.Space("").Doc(nil, keyspace.TagRevs, "")):]
		if l, err := parseLeaf(new(revtree.Lines), suffix, b); err == nil {
			again, err := parseLeaf(new(revtree.Lines), suffix, l.encode(nil))
			if err != nil || !bytes.Equal(again.encode(nil), l.encode(nil)) {
				t.Errorf("leaf %+v, then %+v, %v", l, again, err)
			}
		}
		if c, err := parseChange(b); err == nil {
			if again, err := parseChange(c.encode(nil)); err != nil || again != c {
				t.Errorf("change %+v, then %+v, %v", c, again, err)
			}
		}
		if e, err := parseEntry(b); err == nil {
			again, err := parseEntry(e.encode(nil))
			if err != nil || !bytes.Equal(again.encode(nil), e.encode(nil)) {
				t.Errorf("entry %+v, then %+v, %v", e, again, err)
			}
		}
		_, _ = parseWinner(b)
		_, _ = parsePurge(b)
		_, _, _, _, _ = parseLocal(b)
		_, _, _, _ = keyspace.ParseLeafKey(b)
		_, _, _ = keyspace.ParseRevision(b)
		_, _ = keyspace.ParseSeq(b)
		_, _ = keyspace.ParseRecordKey(b)
	})
}
