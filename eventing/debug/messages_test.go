package debug

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestClientsThatSendTooMuchWait: of messages that the worker does not take only so many are kept, by
// number and by bytes; who sends more goes on when some were taken, or when the connection is another's.
func TestClientsThatSendTooMuchWait(t *testing.T) {
	for size, most := range map[int]int{1: maxWaiting - 1, MaxMessage: maxWaitingBytes / MaxMessage} {
		synctest.Test(t, func(t *testing.T) {
			n := start(t, NewSessions(), "f", "")
			c := n.Connect()
			for range most {
				require.NoError(t, c.Send(t.Context(), make([]byte, size)))
			}
			var sent []error
			go func() {
				for range 2 * most {
					sent = append(sent, c.Send(context.Background(), make([]byte, size)))
				}
			}()
			synctest.Wait()
			require.Empty(t, sent)
			in, err := n.Exchange(t.Context(), nil, true)
			require.NoError(t, err)
			require.Len(t, in, most+1, "and one that says that the client has come")
			synctest.Wait()
			require.NotEmpty(t, sent)
			require.NotContains(t, sent, ErrReplaced)
			second := n.Connect()
			synctest.Wait()
			require.Len(t, sent, 2*most)
			require.Equal(t, ErrReplaced, sent[2*most-1])
			in, err = n.Exchange(t.Context(), nil, true)
			require.NoError(t, err)
			require.Equal(t, [][]byte{{}}, in, "what the one before has sent is gone")
			ended, end := context.WithCancel(t.Context())
			end()
			require.NoError(t, second.Send(ended, nil), "an empty message is none")
			_, err = second.Receive(ended)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

// TestClientsThatDoNotReceive: the worker waits for a slow client, and not for one that is gone.
func TestClientsThatDoNotReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := start(t, NewSessions(), "f", "")
		many := make([][]byte, 10_000)
		for i := range many {
			many[i] = fmt.Append(nil, i)
		}
		_, err := n.Exchange(t.Context(), many, false)
		require.NoError(t, err, "nobody is there to wait for")
		c := n.Connect()
		told := false
		go func() {
			_, err := n.Exchange(context.Background(), many, false)
			told = err == nil
		}()
		synctest.Wait()
		require.False(t, told)
		for i := range len(many) / 2 {
			text, err := c.Receive(t.Context())
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(i), string(text))
		}
		c.Close()
		c.Close()
		synctest.Wait()
		require.True(t, told)
		require.Equal(t, ErrReplaced, c.Send(t.Context(), []byte("late")))
	})
}

// FuzzQueue: messages of any bytes come to the worker as they are, in their order, and what the worker says
// comes to the client so, whatever the pieces are in which they are taken.
func FuzzQueue(f *testing.F) {
	f.Add([]byte(`{"id":1}`), byte(3))
	f.Add([]byte("\x00\xff{[\"\n"), byte(0))
	f.Add(bytes.Repeat([]byte("x"), 100), byte(7))
	f.Fuzz(func(t *testing.T, text []byte, size byte) {
		n := start(t, NewSessions(), "f", "")
		c := n.Connect()
		in, err := n.Exchange(t.Context(), nil, true)
		require.NoError(t, err)
		require.Equal(t, [][]byte{{}}, in)
		var got []byte
		for rest := text; len(rest) > 0; {
			piece := rest[:min(len(rest), int(size)+1)]
			rest = rest[len(piece):]
			require.NoError(t, c.Send(t.Context(), piece))
			in, err := n.Exchange(t.Context(), nil, true)
			require.NoError(t, err)
			_, err = n.Exchange(t.Context(), in, false)
			require.NoError(t, err)
			for range in {
				back, err := c.Receive(t.Context())
				require.NoError(t, err)
				got = append(got, back...)
			}
		}
		require.True(t, bytes.Equal(text, got))
	})
}
