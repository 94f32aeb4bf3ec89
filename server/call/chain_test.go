package call

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRequestID(t *testing.T) {
	require.Equal(t, "a-Z_9", requestID("a-Z_9"))
	for _, bad := range []string{"", "a b", "é", strings.Repeat("x", 37)} {
		require.Regexp(t, "^[0-9a-f]{10}$", requestID(bad))
	}
}
