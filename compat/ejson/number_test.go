package ejson

import (
	"bytes"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBigIntegers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	sizes := []int{1, 19, bigDigits, bigDigits + 1, 2*bigDigits - 1, 2 * bigDigits, 2*bigDigits + 1, 7777, 33_333}
	for _, size := range sizes {
		text := make([]byte, size)
		for i := range text {
			text[i] = '0' + byte(random.IntN(10))
		}
		text[0] = '9'
		for _, sign := range []string{"", "-"} {
			want, _ := new(big.Int).SetString(sign+string(text), 10)
			v, err := Parse(append([]byte(sign), text...))
			require.NoError(t, err)
			require.Zero(t, want.Cmp(v.BigInt()), "%d digits", size)
		}
	}
	require.Nil(t, Value{}.BigInt())
	// A reader in time that grows with the square needs minutes for this.
	require.Equal(t, 26_575_425, bigInteger(bytes.Repeat([]byte{'9'}, 8_000_000)).BitLen())
}
