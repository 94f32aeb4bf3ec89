package remote

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/tracing"
)

// TestCurlKeepsCredentials: neither the binding's credentials nor what the handler sends nor
// cookies go to another port of the same host.
func TestCurlKeepsCredentials(t *testing.T) {
	var there []http.Header
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		there = append(there, r.Header)
	}))
	defer other.Close()
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "secret"})
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer here.Close()
	for _, c := range []definition.CurlBinding{
		{AuthType: definition.AuthBasic, Username: "u", Password: "p"},
		{AuthType: definition.AuthBearer, BearerKey: "k"},
	} {
		c.Hostname, c.Cookies = here.URL, true
		u, err := New(c, 1<<20, func(netip.Addr) bool { return true })
		require.NoError(t, err)
		hold := func(context.Context, int64) error { return nil }
		r := js.EventRequest{Method: "GET", Headers: [][2]string{{"X-Api-Key", "key"}}, Redirect: true}
		for range 2 {
			answer, err := u.Do(t.Context(), &r, hold)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, answer.Status)
		}
	}
	require.Len(t, there, 4)
	for _, h := range there {
		for _, name := range []string{"X-Api-Key", "Cookie", "Authorization", "Referer"} {
			require.Empty(t, h.Get(name), name)
		}
	}
}

// TestRequestsOfATrace: what a handler asks for and what is published has the context of the trace
// that it belongs to.
func TestRequestsOfATrace(t *testing.T) {
	var parents []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		parents = append(parents, r.Header.Get("Traceparent"))
	}))
	defer server.Close()
	u, err := New(definition.CurlBinding{Hostname: server.URL}, 1<<20, func(netip.Addr) bool { return true })
	require.NoError(t, err)
	var spans []*tracing.Record
	tracer := tracing.Tracer{
		Ratio: func() float64 { return 1 }, Ended: func(r *tracing.Record) { spans = append(spans, r) },
	}
	ctx, _ := tracer.Root(t.Context(), "function batch")
	hold := func(context.Context, int64) error { return nil }
	_, err = u.Do(ctx, &js.EventRequest{Method: "GET"}, hold)
	require.NoError(t, err)
	u.Send(ctx, nil, []byte("{}"))
	require.Len(t, spans, 2)
	for i, span := range spans {
		require.Equal(t, fmt.Sprintf("00-%x-%x-01", span.Trace, span.Span), parents[i])
	}
}

// TestJar: a server may send any number of cookies, and the last ones are kept.
func TestJar(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		http.SetCookie(w, &http.Cookie{Name: fmt.Sprint("c", requests), Value: strings.Repeat("x", 20<<10)})
	}))
	defer server.Close()
	url := server.URL
	u, err := New(definition.CurlBinding{Hostname: url, Cookies: true}, 1<<20, nil)
	require.NoError(t, err)
	most := 0
	for range 20 {
		response, err := (&http.Client{Jar: u.client.Jar}).Get(url)
		require.NoError(t, err)
		response.Body.Close()
		most = max(most, len(u.client.Jar.Cookies(response.Request.URL)))
		require.NotEmpty(t, u.client.Jar.Cookies(response.Request.URL))
	}
	require.Equal(t, 3, most)
}
