package js

import (
	"bufio"
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAnswersOfAWorkerWhileWeStoodStill: an answer that came in time is read although the deadline is
// over when this process goes on; one that did not come is missed.
func TestAnswersOfAWorkerWhileWeStoodStill(t *testing.T) {
	out, in, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = in.Close(), out.Close() })
	p := &process{out: out, reader: bufio.NewReader(out)}
	require.NoError(t, writeFrame(in, frameResult, []byte("answer")))
	long := time.Now().Add(-2 * stoodStill)
	f, err := p.receive(t.Context(), long)
	require.NoError(t, err)
	require.Equal(t, "answer", string(f.payload))

	_, err = p.receive(t.Context(), long)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.receive(ended, long)
	require.ErrorIs(t, err, context.Canceled)
}
