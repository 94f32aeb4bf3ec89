package audience

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/revtree"
)

// FuzzRow: what ParseRow takes is written back the same; it never panics.
func FuzzRow(f *testing.F) {
	rev := compat.Rev{Pos: 2, Hash: "0123456789abcdef"}
	for _, row := range []Row{
		{ID: "a", Winner: rev, Leaves: 1}, {ID: "", Winner: rev, Deleted: true, Leaves: 3},
		{ID: "b", Winner: rev, Deleted: true, Leaves: 2, Gone: []compat.Rev{rev, {Pos: 1, Hash: "x"}}},
	} {
		f.Add(row.encode())
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		row, err := ParseRow(value)
		if err != nil {
			return
		}
		again, err := ParseRow(row.encode())
		if err != nil || !reflect.DeepEqual(again, row) {
			t.Errorf("%+v, then %+v, %v", row, again, err)
		}
	})
}

// leafFor makes a leaf of a depth for some principals.
func leafFor(pos int64, hash string, deleted bool, principals ...string) formats.Leaf {
	return formats.Leaf{
		Leaf:   revtree.Leaf{Rev: compat.Rev{Pos: pos, Hash: hash}, Deleted: deleted},
		Access: append([]string{}, principals...),
	}
}

// TestSights: a principal's first sight stays while it sees any leaf; who saw a live leaf and sees
// none is remembered, the newest MostGone of them; a purge tells nobody.
func TestSights(t *testing.T) {
	at := func(n byte) compat.Seq { return compat.Seq{Incarnation: 1, Versionstamp: [12]byte{n}} }
	before := leafFor(1, "a", false, "u:ann", "u:bob")
	before.Sights = []formats.Sight{
		{Principal: "u:ann", Seq: at(1)}, {Principal: "u:bob", Seq: at(2)},
		{Principal: "u:eve", Seq: at(3), Gone: true},
	}
	edit := Edit{Before: []formats.Leaf{before}, After: []formats.Leaf{leafFor(2, "b", true, "r:x", "u:ann")}}
	require.Equal(t, []formats.Sight{
		{Principal: "r:x"}, {Principal: "u:ann", Seq: at(1)}, {Principal: "u:bob", Gone: true},
		{Principal: "u:eve", Seq: at(3), Gone: true},
	}, edit.Sights())
	edit.Purge = true
	require.Equal(t, []formats.Sight{
		{Principal: "r:x"}, {Principal: "u:ann", Seq: at(1)}, {Principal: "u:eve", Seq: at(3), Gone: true},
	}, edit.Sights())
	edit = Edit{Before: []formats.Leaf{before}, After: []formats.Leaf{leafFor(2, "b", false, "u:eve")}}
	require.Equal(t, []formats.Sight{
		{Principal: "u:ann", Gone: true}, {Principal: "u:bob", Gone: true}, {Principal: "u:eve"},
	}, edit.Sights())

	many := leafFor(1, "a", false, "u:ann")
	many.Sights = []formats.Sight{{Principal: "u:ann", Seq: at(1)}}
	for i := range MostGone {
		name := "x" + string(rune('A'+i))
		many.Sights = append(many.Sights, formats.Sight{Principal: name, Seq: at(byte(10 + i)), Gone: true})
	}
	edit = Edit{Before: []formats.Leaf{many}, After: []formats.Leaf{leafFor(2, "b", false)}}
	sights := edit.Sights()
	require.Len(t, sights, MostGone)
	require.Equal(t, "u:ann", sights[0].Principal)
	require.Equal(t, "xB", sights[1].Principal, "the oldest is forgotten")
}
