package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
)

func TestBodyBudget(t *testing.T) {
	ctx := context.Background()
	b := newBodyBudget(2000 << 20)
	b.wait = time.Millisecond
	a, other, nobody := bodyShare{budget: b}, bodyShare{budget: b}, bodyShare{budget: b, nobody: true}
	require.Equal(t, compat.ErrRequestTooLarge, a.take(ctx, 1000<<20+1), "more than there is at all")
	require.Equal(t, compat.ErrRequestTooLarge, nobody.take(ctx, 501<<20), "nobody has half of it")
	require.NoError(t, a.take(ctx, 900<<20))
	require.Equal(t, compat.ErrRequestTooLarge, a.take(ctx, 101<<20), "with what it has already")
	require.Equal(t, error(errBodiesBusy), other.take(ctx, 200<<20))
	require.NoError(t, nobody.take(ctx, 100<<20), "who fits goes first")
	require.Equal(t, error(errBodiesBusy), other.take(ctx, 1))
	nobody.release()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.Equal(t, context.Canceled, other.take(ended, 200<<20))

	b.wait = time.Minute
	require.NoError(t, nobody.take(ctx, 50<<20))
	waits := make(chan error)
	go func() { waits <- nobody.take(ctx, 90<<20) }()
	require.Eventually(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.growing == &nobody }, time.Minute, time.Millisecond)
	require.NoError(t, other.take(ctx, 50<<20))
	require.Equal(t, error(errBodiesBusy), other.take(ctx, 1), "two that have something do not wait for each other")
	other.release()
	require.NoError(t, a.take(ctx, 10<<20), "what fits needs no waiting")
	a.release()
	require.NoError(t, <-waits)
	require.Nil(t, b.growing)
	nobody.release()
	require.Equal(t, b.total, b.free)
	require.Equal(t, b.total/2, b.nobodys)
	require.NoError(t, (&bodyShare{}).take(ctx, 1<<40), "without a budget")
}

// Requests hold memory of the budget until they end, however they end; small ones need none.
func TestBodiesShareMemory(t *testing.T) {
	s := openServer(t, 0)
	s.bodies = newBodyBudget(1)
	s.bodies.wait = time.Millisecond
	document := func(size int) string { return `{"a":"` + strings.Repeat("x", size) + `"}` }
	require.Equal(t, 201, do(s, "PUT", "/db/large", document(7_900_000)).Code)
	require.Equal(t, 413, do(s, "POST", "/db/_bulk_docs", `{"docs":[`+document(7_900_000)+","+document(7_900_000)+","+document(7_900_000)+`]}`).Code)
	require.Equal(t, 413, do(s, "POST", "/db/_all_docs", `{"keys":[`+strings.Repeat("1,", 2_000_000)+`1]}`).Code, "the parsed form counts")
	require.Equal(t, 400, do(s, "PUT", "/db/broken", document(1_000_000)[1:]).Code)
	require.Equal(t, s.bodies.total, s.bodies.free)

	held := bodyShare{budget: s.bodies}
	require.NoError(t, held.take(t.Context(), s.bodies.total))
	busy := do(s, "PUT", "/db/busy", document(100_000))
	require.Equal(t, 503, busy.Code)
	require.NotEmpty(t, busy.Header().Get("Retry-After"))
	require.Equal(t, 201, do(s, "PUT", "/db/small", document(1000)).Code)
	held.release()
	require.Equal(t, 201, do(s, "PUT", "/db/busy", document(100_000)).Code)
	require.Equal(t, s.bodies.total, s.bodies.free)
}

func TestBodiesThatInflate(t *testing.T) {
	s := openServer(t, 0)
	packed := func(before string, n int, after string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write([]byte(before + strings.Repeat(" ", n) + after))
		require.NoError(t, err)
		require.NoError(t, z.Close())
		return b.String()
	}
	gz := []string{"Content-Encoding", "gzip", "Content-Type", "application/json"}
	require.Equal(t, 201, do(s, "PUT", "/db/a", packed(`{"a":1`, 1_000_000, `}`), gz...).Code)
	require.Equal(t, 413, do(s, "PUT", "/db/b", packed(`{"a":1`, 17_000_000, `}`), gz...).Code)
	login := `{"name":"admin","password":"secret"`
	require.Equal(t, 200, do(s, "POST", "/_session", packed(login, 1000, `}`), append(gz, "Authorization", "")...).Code)
	require.Equal(t, 413, do(s, "POST", "/_session", packed(login, 70_000, `}`), append(gz, "Authorization", "")...).Code)
	require.Equal(t, 413, do(s, "POST", "/_session", login+strings.Repeat(" ", 70_000)+"}", "Authorization", "").Code)
	truncated := packed(`{"a":1`, 100_000, `}`)
	expect(t, do(s, "PUT", "/db/c", truncated[:len(truncated)/2], gz...), 400, `{"error":"bad_request","reason":"Request body is not properly gzipped."}`+"\n")
}
