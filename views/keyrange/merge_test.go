package keyrange

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv"
)

// listed is an iterator over rows in memory that counts what is read.
type listed struct {
	rows [][2]string
	at   int
	read *int
}

func (l *listed) Next() bool {
	if l.at >= len(l.rows) {
		return false
	}
	l.at++
	*l.read++
	return true
}
func (l *listed) Key() []byte   { return []byte(l.rows[l.at-1][0]) }
func (l *listed) Value() []byte { return []byte(l.rows[l.at-1][1]) }
func (l *listed) Err() error    { return nil }
func (l *listed) Close() error  { return nil }

// TestMerge: a merge is all rows sorted, each once, in both directions; up to a row it has read no
// more than the rows given and those that were left out, and one of each range.
func TestMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		reverse := rng.IntN(2) == 0
		var ranges []kv.Iterator
		all, read := map[string]bool{}, 0
		for p := range rng.IntN(5) {
			prefix := AppendPrincipal([]byte("base"), []string{"*", "r:a", "r:a\x00", "r:ab", "u:x"}[p])
			l := &listed{read: &read}
			for key := range byte(12) {
				if rng.IntN(2) == 0 {
					bare := string([]byte{0x10 + key/4, key})
					all[bare] = true
					l.rows = append(l.rows, [2]string{string(prefix) + bare, "v" + bare})
				}
			}
			if reverse {
				slices.Reverse(l.rows)
			}
			ranges = append(ranges, l)
		}
		var want, got []string
		for bare := range all {
			want = append(want, bare)
		}
		slices.Sort(want)
		if reverse {
			slices.Reverse(want)
		}
		m := Merge(ranges, len("base"), reverse)
		for m.Next() {
			rowKey := m.Key()[len("base"):]
			bare := string(rowKey[PrincipalLength(rowKey):])
			require.Equal(t, "v"+bare, string(m.Value()))
			got = append(got, bare)
			require.LessOrEqual(t, read, len(got)*len(ranges)+len(ranges))
		}
		require.Equal(t, want, got)
		require.NoError(t, m.Close())
	}
}

// TestMergeReadsNoFurther: rows of one principal do not make a merge read those of another.
func TestMergeReadsNoFurther(t *testing.T) {
	read := 0
	var ranges []kv.Iterator
	for p, lead := range []byte{0x10, 0x11} {
		l := &listed{read: &read}
		for i := range byte(100) {
			rowKey := append(AppendPrincipal(nil, []string{"*", "u:x"}[p]), lead, i)
			l.rows = append(l.rows, [2]string{string(rowKey), ""})
		}
		ranges = append(ranges, l)
	}
	m := Merge(ranges, 0, false)
	for range 10 {
		require.True(t, m.Next())
	}
	require.Equal(t, 10+1, read)
}

// TestWithin: a range within a principal has that principal's rows alone.
func TestWithin(t *testing.T) {
	one, other := AppendPrincipal(nil, "u:a"), AppendPrincipal(nil, "u:ab")
	for _, r := range []Range{{}, {Lo: []byte{0x11}}, {Lo: []byte{0x11}, Hi: []byte{0x12}}} {
		in := r.Within(one)
		for _, key := range [][]byte{{0x10, 1}, {0x11, 1}, {0x12, 1}} {
			has := func(key []byte) bool {
				return bytes.Compare(key, in.Lo) >= 0 && bytes.Compare(key, in.Hi) < 0
			}
			inside := bytes.Compare(key, r.Lo) >= 0 && (r.Hi == nil || bytes.Compare(key, r.Hi) < 0)
			require.Equal(t, inside, has(append(slices.Clip(one), key...)))
			require.False(t, has(append(slices.Clip(other), key...)) || has(key))
		}
	}
}

// FuzzPrincipalLength: of a principal's row key it is the prefix's length, and nothing makes it panic.
func FuzzPrincipalLength(f *testing.F) {
	f.Add("u:ann", []byte{0x10})
	f.Fuzz(func(t *testing.T, principal string, rest []byte) {
		prefix := AppendPrincipal(nil, principal)
		if len(rest) > 0 && rest[0] >= 0x10 && rest[0] != 0xff {
			require.Equal(t, len(prefix), PrincipalLength(append(prefix, rest...)))
		}
		require.LessOrEqual(t, PrincipalLength(rest), len(rest))
		require.LessOrEqual(t, PartitionLength(rest), len(rest))
	})
}
