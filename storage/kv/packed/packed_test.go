package packed_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv/packed"
)

func TestWhatIsAppendedIsRead(t *testing.T) {
	b := binary.AppendVarint(binary.AppendUvarint([]byte{7}, 1<<40), -5)
	b = packed.AppendText(packed.AppendText(b, ""), []byte("text"))
	b = append(binary.AppendUvarint(b, 2), "abcdef"...)
	r := packed.Reader{B: b}
	require.Equal(t, byte(7), r.Byte())
	require.Equal(t, uint64(1<<40), r.Uvarint())
	require.Equal(t, int64(-5), r.Varint())
	require.Empty(t, r.Bytes())
	require.Equal(t, "text", r.Text())
	require.Equal(t, 2, r.Count(3))
	require.False(t, r.Done())
	require.Equal(t, []byte("abcdef"), r.Take(6))
	require.True(t, r.Done())

	cut := packed.Reader{B: binary.AppendUvarint(nil, 2)}
	require.Zero(t, cut.Count(1), "a count of what is not there")
	require.True(t, cut.Bad)
	require.False(t, cut.Done())
}

// The reader takes what there is, gives nothing that is not, and nothing after that.
func FuzzReader(f *testing.F) {
	f.Add([]byte("btcvu"), []byte{1, 3, 'a', 'b', 'c', 0x80})
	f.Fuzz(func(t *testing.T, calls, b []byte) {
		r := packed.Reader{B: b}
		for _, call := range calls {
			bad, left, taken := r.Bad, len(r.B), 0
			switch call % 6 {
			case 0:
				r.Byte()
			case 1:
				taken = len(r.Take(int(int8(call))))
			case 2:
				r.Uvarint()
			case 3:
				r.Varint()
			case 4:
				taken = len(r.Text())
			case 5:
				size := int(call/6) + 1
				taken = size * r.Count(size)
			}
			require.LessOrEqual(t, taken, left)
			require.LessOrEqual(t, len(r.B), left)
			if bad {
				require.True(t, r.Bad)
				require.Zero(t, taken)
			}
		}
	})
}
