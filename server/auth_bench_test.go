package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/server/servertest"
)

// BenchmarkGetAs reads a document as nobody and with the kinds of credentials: what logins add to a
// request.
func BenchmarkGetAs(b *testing.B) {
	s := servertest.NewWithUsers(b, 1)
	var u struct{ Salt string }
	require.NoError(b, json.Unmarshal(s.Do("GET", "/_users/org.couchdb.user:joe0", "").Body.Bytes(), &u))
	cookie := principal.NewSession("joe0", "a secret"+u.Salt, "sha256", time.Now())
	for _, c := range []struct{ name, header, value string }{
		{"nobody", "X", "x"}, {"basic", "Authorization", servertest.Basic("joe0", "p")}, {"cookie", "Cookie", "AuthSession=" + cookie},
		{"admin", "Authorization", servertest.Basic("admin", "secret")},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest("GET", "/db/doc", nil)
				r.Header.Set(c.header, c.value)
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				if w.Code != 200 {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}

// BenchmarkBasicAuthCost is what a known login adds to reading a document, in percent (bound: 15).
// The reads alternate, and since machines are busy with other things too, the best of all rounds
// counts.
func BenchmarkBasicAuthCost(b *testing.B) {
	s := servertest.NewWithUsers(b, 1)
	best := 10.0
	for b.Loop() {
		nobody, user := alternatingReads(b, s, "", servertest.Basic("joe0", "p"))
		best = min(best, float64(user)/float64(nobody))
	}
	b.ReportMetric(100*(best-1), "%more")
}

// alternatingReads are the median times of reading the document with each of two Authorization
// headers.
func alternatingReads(t testing.TB, s *servertest.Server, headers ...string) (first, second time.Duration) {
	const reads = 5000
	times := [2][]time.Duration{}
	for range reads {
		for i, header := range headers {
			r := httptest.NewRequest("GET", "/db/doc", nil)
			if header != "" {
				r.Header.Set("Authorization", header)
			}
			w := httptest.NewRecorder()
			begin := time.Now()
			s.ServeHTTP(w, r)
			times[i] = append(times[i], time.Since(begin))
			require.Equal(t, 200, w.Code)
		}
	}
	slices.Sort(times[0])
	slices.Sort(times[1])
	return times[0][reads/2], times[1][reads/2]
}

// BenchmarkLoginFlood is how much longer reads take while twenty clients try wrong passwords
// (bound: 2 times). Since machines are busy with other things too, the best of all rounds counts.
func BenchmarkLoginFlood(b *testing.B) {
	s := servertest.NewWithUsers(b, 1)
	s.Set("chttpd_auth_lockout", "mode", "off")
	s.Set("chttpd_auth", "iterations", "600000")
	require.Equal(
		b,
		201,
		s.Do("PUT", "/_users/org.couchdb.user:slow", `{"name":"slow","type":"user","roles":[],"password":"p"}`).Code,
	)
	best := 1e9
	for b.Loop() {
		quiet := medianRead(b, s)
		stop := flood(s)
		time.Sleep(20 * time.Millisecond)
		best = min(best, float64(medianRead(b, s))/float64(quiet))
		stop()
	}
	b.ReportMetric(best, "times")
}

// medianRead is the median time of a document's read by a user who has logged in before.
func medianRead(t testing.TB, s *servertest.Server) time.Duration {
	const reads = 2000
	times := make([]time.Duration, reads)
	for i := range times {
		r := httptest.NewRequest("GET", "/db/doc", nil)
		r.Header.Set("Authorization", servertest.Basic("joe0", "p"))
		w := httptest.NewRecorder()
		begin := time.Now()
		s.ServeHTTP(w, r)
		times[i] = time.Since(begin)
		require.Equal(t, 200, w.Code)
	}
	slices.Sort(times)
	return times[reads/2]
}

// flood tries wrong passwords from several addresses until stop is called.
func flood(s *servertest.Server) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				r := httptest.NewRequest("GET", "/db/doc", nil).WithContext(ctx)
				r.RemoteAddr = fmt.Sprintf("10.0.0.%d:1", i%4)
				r.Header.Set("Authorization", servertest.Basic("slow", fmt.Sprint("wrong", n)))
				func() {
					defer func() { _ = recover() }() // a request whose client has gone breaks its connection
					s.ServeHTTP(httptest.NewRecorder(), r)
				}()
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// TestManySessions: ten thousand users with a cookie each.
func TestManySessions(t *testing.T) {
	const users = 10000
	s := servertest.New(t)
	s.Set("chttpd_auth", "secret", "a secret")
	require.Equal(t, 201, s.Do("PUT", "/_users", "").Code)
	docs := make([]byte, 0, 200*users)
	docs = append(docs, `{"docs":[`...)
	for i := range users {
		if i > 0 {
			docs = append(docs, ',')
		}
		docs = fmt.Appendf(
			docs,
			`{"_id":"org.couchdb.user:joe%d","name":"joe%d","type":"user","roles":[],"salt":"s%d"}`,
			i,
			i,
			i,
		)
	}
	require.Equal(t, 201, s.Do("POST", "/_users/_bulk_docs", string(append(docs, "]}"...))).Code)
	for round := range 2 {
		begin := time.Now()
		for i := range users {
			r := httptest.NewRequest("GET", "/_session", nil)
			session := principal.NewSession(fmt.Sprint("joe", i), fmt.Sprint("a secrets", i), "sha256", time.Now())
			r.Header.Set("Cookie", "AuthSession="+session)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			require.Contains(t, w.Body.String(), fmt.Sprintf(`"name":"joe%d"`, i))
		}
		t.Logf("round %d: %s for each of %d cookies", round, time.Since(begin)/users, users)
	}
}
