package principal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSplitRoles(t *testing.T) {
	for list, want := range map[string][]string{
		"": {""}, "a": {"a"}, "a , b": {"a", "b"}, "a,,b,,": {"a", "", "b"}, ",a": {"", "a"}, ",": {}, " , ,": {},
	} {
		require.Equal(t, want, SplitRoles(list), list)
	}
}
