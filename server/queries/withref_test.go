package queries

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
)

// TestWithRef: what CouchDB's workers fail with has a ref, what this server refuses for a while has
// none.
func TestWithRef(t *testing.T) {
	for err, ref := range map[*compat.Error]bool{
		compat.NewError(compat.KindError, "x"): true, compat.Busy("x"): false, compat.ErrNoDatabase: false,
	} {
		e, ok := compat.AsError(withRef(err))
		require.True(t, ok)
		require.Equal(t, ref, e.Ref, err)
	}
}
