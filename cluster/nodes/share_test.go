package nodes

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShare: shares are about even, and only what falls to a process that goes moves.
func TestShare(t *testing.T) {
	live := make([]Member, 4)
	for i := range live {
		live[i].ID[3] = byte(i + 1)
	}
	counts := make(map[ID]int)
	for i := range 4000 {
		name := fmt.Sprint("name", i)
		of := Share(name, live)
		counts[of]++
		if less := Share(name, live[1:]); of != live[0].ID {
			require.Equal(t, of, less)
		}
	}
	for _, m := range live {
		require.InDelta(t, 1000, counts[m.ID], 200)
	}
}
