package formats_test

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/revtree"
)

// TestRecordOfASplitDatabase: what older versions wrote behind the record of a database that they
// had split is passed over.
func TestRecordOfASplitDatabase(t *testing.T) {
	rec := keyspace.Record{Prefix: 40, Created: time.UnixMicro(7).UTC(), Q: 2, N: 1, RevsLimit: 9, Partitioned: true}
	old := binary.AppendUvarint(append(rec.Encode(), 0), 1<<30)
	old[1] |= 2
	got, err := keyspace.ParseRecord(old)
	require.NoError(t, err)
	require.Equal(t, rec, got)
}

// FuzzValues feeds every parser of stored values: they may fail but not panic, and what they accept
// is written back the same.
func FuzzValues(f *testing.F) {
	rec := keyspace.Record{Prefix: 40, Q: 2, N: 1, RevsLimit: 1000, PurgedInfosLimit: 1000, Partitioned: true}
	leaf := formats.Leaf{
		Leaf:     revtree.Leaf{Ancestors: revtree.NewLine(1, []string{"0123456789abcdef"})},
		Winner:   true,
		Stored:   true,
		External: 7,
		Active:   8,
	}
	odd := formats.Leaf{Leaf: revtree.Leaf{Ancestors: revtree.NewLine(1, []string{"a", ""})}}
	read := leaf
	read.Access = []string{"*", "u:ann"}
	read.Sights = []formats.Sight{{Principal: "*"}, {Principal: "u:bob", Gone: true, Seq: compat.Seq{Incarnation: 1}}}
	whole := leaf
	whole.Entry = (&formats.Entry{Body: formats.EmptyBody}).Encode(nil)
	change := formats.Change{ID: "a", Winner: compat.Rev{Pos: 3, Hash: "x"}, Deleted: true, Leaves: 2, Kilobytes: 7}
	atts := []compat.Attachment{{Name: "n", Type: "t", Ref: "r", RevPos: 1, Length: 2, EncodedLength: -1}}
	inline := formats.Entry{Atts: atts, Body: formats.EmptyBody, Deleted: true}
	there := formats.Blob{Ref: "0123456789abcdef", Length: 7}
	apart := formats.Entry{AttsApart: there, BodyApart: there}
	for _, seed := range [][]byte{
		nil, rec.Encode(), leaf.Encode(nil), odd.Encode(nil), change.Encode(nil),
		formats.EncodeWinner(nil, change.Winner), formats.EncodeListed(nil, change.Winner, 7), whole.Encode(nil),
		read.Encode(nil),
		inline.Encode(nil), apart.Encode(nil), {formats.LocalInline, 1, '1', '{', '}'},
		formats.EncodePurge("id", []compat.Rev{change.Winner}),
		formats.MembersTable([]byte(`{"a":1,"b":"` + strings.Repeat("x", keyspace.MaxValue) + `"}`)),
		formats.EncodeSecurity([]byte("{}"), false), formats.EncodeSecurity([]byte("{}"), true),
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
		if l, err := formats.ParseLeaf(new(revtree.Lines), suffix, b); err == nil {
			again, err := formats.ParseLeaf(new(revtree.Lines), suffix, l.Encode(nil))
			if err != nil || !bytes.Equal(again.Encode(nil), l.Encode(nil)) {
				t.Errorf("leaf %+v, then %+v, %v", l, again, err)
			}
		}
		if c, err := formats.ParseChange(b); err == nil {
			if again, err := formats.ParseChange(c.Encode(nil)); err != nil || again != c {
				t.Errorf("change %+v, then %+v, %v", c, again, err)
			}
		}
		if e, err := formats.ParseEntry(b); err == nil {
			again, err := formats.ParseEntry(e.Encode(nil))
			if err != nil || !bytes.Equal(again.Encode(nil), e.Encode(nil)) {
				t.Errorf("entry %+v, then %+v, %v", e, again, err)
			}
		}
		length, end := keyspace.MaxValue+14, 1
		found, _ := formats.FindMembers(b, length, [][]byte{[]byte(`"a"`), []byte(`"b"`)})
		for _, s := range found {
			if s.From < end || s.To < s.From || s.To >= length {
				t.Errorf("members at %v", found)
			}
			end = s.To + 1
		}
		_, _ = formats.ParseWinner(b)
		_, _, _ = formats.ParsePurge(b)
		_, _ = formats.ParseSecurity(b)
		_, _, _, _, _ = formats.ParseLocal(b)
		_, _, _, _ = keyspace.ParseLeafKey(b)
		_, _, _ = keyspace.ParseRevision(b)
		_, _ = keyspace.ParseSeq(b)
		_, _ = keyspace.ParseRecordKey(b)
	})
}
