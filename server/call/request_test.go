package call

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/memory"
)

func bodyOf(r *http.Request) *Body {
	budget := memory.NewBodies(1<<30, memory.NewGate(1<<30))
	return &Body{head: &Head{Request: r}, in: newRequestBody(r, httptest.NewRecorder(), budget, 0)}
}

// TestAnnouncedBody reads bodies of a known length, whole and broken off.
func TestAnnouncedBody(t *testing.T) {
	read := func(body []byte, announced, limit int64) ([]byte, error) {
		r := httptest.NewRequest("POST", "/", iotest.HalfReader(bytes.NewReader(body)))
		r.ContentLength = announced
		c := bodyOf(r)
		raw, err := c.readRaw(limit)
		require.False(t, err == nil && c.in.unread())
		return raw, err
	}
	for _, n := range []int64{0, 1, maxTrusted, maxTrusted + 1, trust * maxTrusted, trust*maxTrusted + 1, 1 << 20} {
		body := bytes.Repeat([]byte("0123456789abcdef!"), int(n)/17+1)[:n]
		raw, err := read(body, n, n)
		require.NoError(t, err)
		require.Equal(t, body, raw)
		if n == 0 {
			continue
		}
		_, err = read(body, n, n-1)
		require.ErrorIs(t, err, compat.ErrRequestTooLarge, "%d bytes", n)
		_, err = read(body[:n-1], n, n)
		require.Error(t, err, "%d bytes", n)
		require.NotErrorIs(t, err, compat.ErrRequestTooLarge)
	}
}

// TestAnnouncedBodyIsReadOnce: what bulk writes send takes little more memory than it is long.
func TestAnnouncedBodyIsReadOnce(t *testing.T) {
	body := make([]byte, 1<<20+1)
	r := httptest.NewRequest("POST", "/", bytes.NewReader(body))
	c := bodyOf(r)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := c.readRaw(1 << 30)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(body)*3/2))
	_, err = io.ReadAll(r.Body)
	require.NoError(t, err)
}
