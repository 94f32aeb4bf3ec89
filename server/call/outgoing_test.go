package call

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/memory"
)

// An answer that has ended holds nothing any more, whoever goes on to read.
func TestEndedAnswersHoldNothing(t *testing.T) {
	b := memory.NewAnswers(1, nil)
	o := newOutgoing(nil, b)
	require.NoError(t, o.Hold(context.Background(), 1<<20))
	require.Less(t, b.Free, b.Total)
	o.end()
	require.NoError(t, o.Hold(context.Background(), 1<<20))
	require.Equal(t, b.Total, b.Free)
}
