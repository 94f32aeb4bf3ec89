package wire

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// exchange sends raw bytes to a server with the given handler and returns all it answered.
func exchange(t *testing.T, h http.HandlerFunc, raw string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	srv := &http.Server{Handler: h}
	Configure(srv)
	go srv.Serve(Listen(l))
	t.Cleanup(func() { srv.Close() })
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, raw)
	require.NoError(t, err)
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	answer, err := io.ReadAll(bufio.NewReader(c))
	require.NoError(t, err)
	return string(answer)
}

func TestBrokenEscapeReachesTheHandler(t *testing.T) {
	var bad []bool
	h := func(w http.ResponseWriter, r *http.Request) {
		bad = append(bad, FromContext(r.Context()).TakeBadTarget())
		w.WriteHeader(http.StatusOK)
	}
	exchange(t, h, "GET /db/%zz HTTP/1.1\r\nHost: x\r\n\r\n")
	exchange(t, h, "GET /db/a?x=% HTTP/1.1\r\nHost: x\r\n\r\n")
	exchange(t, h, "GET /db/%41?x=%2B HTTP/1.1\r\nHost: x\r\n\r\n")
	exchange(t, h, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 19\r\n\r\nGET /%zz HTTP/1.1\r\n")
	require.Equal(t, []bool{true, true, false, false}, bad)
}

func TestBodiesAreNeverTouched(t *testing.T) {
	body := "GET /%zz HTTP/1.1\r\nExpect: x\r\n\r\n"
	var got []byte
	h := func(w http.ResponseWriter, r *http.Request) { got, _ = io.ReadAll(r.Body) }
	exchange(t, h, "POST /a HTTP/1.1\r\nHost: x\r\nExpect: nonsense\r\nContent-Length: 33\r\n\r\n"+body)
	require.Equal(t, body, string(got))
}

// TestBodiesAreNeverTouchedWhereverTheHeadIsCut: the bytes that end a head may come in two reads,
// and lines may end without a carriage return.
func TestBodiesAreNeverTouchedWhereverTheHeadIsCut(t *testing.T) {
	body := "\nExpect: x\nGET /%zz HTTP/1.1\r\nexpect: y\r\n\r\n"
	for _, start := range []string{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 43\r\n\r\n", "POST / HTTP/1.1\nHost: x\nContent-Length: 43\n\n"} {
		raw := start + body
		for cut := 1; cut < len(raw); cut++ {
			first, second := []byte(raw[:cut]), []byte(raw[cut:])
			var h head
			if _, _, ended := h.fix(first); !ended {
				h.fix(second)
			}
			require.Equal(t, raw, string(first)+string(second), "cut at %d", cut)
		}
	}
}

// TestAmbiguous: a request with a length and chunks is told apart, and the next one on the
// connection is not.
func TestAmbiguous(t *testing.T) {
	var ambiguous []bool
	h := func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		ambiguous = append(ambiguous, FromContext(r.Context()).Ambiguous(r))
	}
	exchange(
		t,
		h,
		"POST / HTTP/1.1\r\nHost: x\r\ncontent-length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
	)
	exchange(
		t,
		h,
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\nPOST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
	)
	require.Equal(t, []bool{true, false, false}, ambiguous)
}

// TestAmbiguousInAPipeline: what came after another request in the same read is told apart, too,
// and clients that wait for their answers keep their connections.
func TestAmbiguousInAPipeline(t *testing.T) {
	const (
		plain   = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
		chunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
		both    = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
	)
	var ambiguous []bool
	h := func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		ambiguous = append(ambiguous, FromContext(r.Context()).Ambiguous(r))
	}
	for _, c := range []struct {
		requests string
		want     []bool
	}{
		{plain + both, []bool{false, true}},
		{chunked + both, []bool{false, true}},
		{plain + plain + both, []bool{false, false, true}},
		{plain + plain + plain, []bool{false, false, false}},
	} {
		ambiguous = nil
		exchange(t, h, c.requests)
		require.Equal(t, c.want, ambiguous, c.requests)
	}
}

// TestAfter: lines that come after a request are noticed, however reads cut it, and its own bytes
// are not taken for them.
func TestAfter(t *testing.T) {
	const lines = "POST / HTTP/1.1\r\n"
	for _, c := range []struct {
		head head
		body string
	}{
		{head{}, ""},
		{head{length: true, lengthLine: "content-length: 7\r"}, "a\r\nb\r\nc"},
		{head{chunked: true}, "3\r\n\r\n0\r\n0A\r\n0123456\n\n\n\r\n0\r\n\r\n"},
	} {
		for cut := range len(c.body) + 1 {
			var a after
			a.begin(&c.head)
			a.pass([]byte(c.body[:cut]))
			a.pass([]byte(c.body[cut:]))
			require.False(t, a.upcoming, "%q cut at %d", c.body, cut)
			a.pass([]byte("P")) // as net/http reads ahead while a handler runs
			require.False(t, a.upcoming)
			a.pass([]byte(lines[1:]))
			require.True(t, a.upcoming, "%q cut at %d", c.body, cut)
		}
	}
	for _, odd := range []string{"2;e\r\n", "2\n", "x\r\n", "2\r\n123", "0\r\nA: b\r\n", "0000000000000000000\r\n"} {
		var a after
		a.begin(&head{chunked: true})
		a.pass([]byte(odd))
		require.True(t, a.upcoming, odd)
	}
	for _, line := range []string{"content-length: x", "content-length:", "content-length: -1", "content-length: 99999999999999999999"} {
		var a after
		a.begin(&head{length: true, lengthLine: line})
		require.True(t, a.upcoming, line)
	}
}

func TestExpect(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }
	got := exchange(t, h, "POST / HTTP/1.1\r\nHost: x\r\nExpect: something\r\nContent-Length: 2\r\n\r\nhi")
	require.True(t, strings.HasPrefix(got, "HTTP/1.1 200 OK"), got)
	got = exchange(t, h, "POST / HTTP/1.1\r\nHost: x\r\nexpect: 100-Continue\r\nContent-Length: 2\r\n\r\nhi")
	require.True(t, strings.HasPrefix(got, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK"), got)
}

func TestReasonPhraseAndMalformedRequests(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		FromContext(r.Context()).NotFound()
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "HTTP/1.1 404 Not Found\r\n")
	}
	got := exchange(t, h, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.True(t, strings.HasPrefix(got, "HTTP/1.1 404 Object Not Found\r\n"), got)
	require.True(t, strings.HasSuffix(got, "\r\n\r\nHTTP/1.1 404 Not Found\r\n"), got)
	got = exchange(t, h, "nonsense\r\n\r\n")
	require.True(t, strings.HasPrefix(got, "HTTP/1.1 400 Bad Request\r\n") && strings.Contains(got, "MochiWeb"), got)
}

// Content that looks like net/http's own refusal is content, wherever it stands in a write.
func TestContentIsNoRefusal(t *testing.T) {
	content := strings.Repeat(
		"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request",
		2000,
	)
	h := func(w http.ResponseWriter, r *http.Request) {
		FromContext(r.Context()).Begin()
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		http.NewResponseController(w).Flush()
		io.WriteString(w, content)
	}
	for range 2 { // the flag is that of one request
		got := exchange(t, h, "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\nnonsense\r\n\r\n")
		require.Equal(t, 2, strings.Count(got, content))
		require.True(t, strings.HasSuffix(got, string(malformed)), got[len(got)-300:])
	}
}

func TestRefusals(t *testing.T) {
	h := func(http.ResponseWriter, *http.Request) { t.Error("handled") }
	for name, raw := range map[string]string{
		"no host":            "GET / HTTP/1.1\r\n\r\n",
		"encoding":           "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: odd\r\n\r\n",
		"version":            "GET / HTTP/3.0\r\nHost: x\r\n\r\n",
		"two lengths":        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"blank before colon": "GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n",
		"control character":  "GET / HTTP/1.1\r\nHost: x\r\nA: b\x00\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, string(malformed), exchange(t, h, raw))
		})
	}
}

func FuzzFixHead(f *testing.F) {
	f.Add([]byte("GET /%zz HTTP/1.1\r\nExpect: x\r\n\r\n%zz"))
	f.Add([]byte("\nexpect:"))
	f.Add([]byte("\n\r\r\n"))
	f.Add([]byte("\nTransfer-Encoding: chunked\ncontent-length:1\n\n"))
	f.Fuzz(func(t *testing.T, p []byte) {
		was := bytes.Clone(p)
		var whole head
		_, used, ended := whole.fix(p)
		if ended && (used == 0 || p[used-1] != '\n') || !ended && used != len(p) {
			t.Fatalf("the head is %d bytes of %d, ended: %v", used, len(p), ended)
		}
		i := bytes.Index(was, []byte("\r\n\r\n"))
		if i >= 0 && !bytes.Equal(p[i:], was[i:]) {
			t.Fatal("bytes after the head changed")
		}
		var parts head // however the head comes
		partsEnded := false
		for at := 0; at < len(was) && !partsEnded; at++ {
			_, _, partsEnded = parts.fix(was[at : at+1])
		}
		if partsEnded != ended || i >= 0 && !ended {
			t.Fatalf("ended: %v in one, %v in pieces", ended, partsEnded)
		}
		if parts.length != whole.length || parts.chunked != whole.chunked {
			t.Fatalf("framing: %+v in one, %+v in pieces", whole, parts)
		}
	})
}
