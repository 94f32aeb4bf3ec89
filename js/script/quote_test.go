package script

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuote(t *testing.T) {
	require.Equal(t, `"\xE9\u0107\u2028\x7F\x01\n'\"\\\uD83D\uDE00"`, Quote("éć\u2028\x7f\x01\n'\"\\😀"))
}
