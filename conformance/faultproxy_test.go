package conformance

import (
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// faultProxy forwards requests to a server and lets things go wrong on the way, as networks and
// overloaded peers do.
type faultProxy struct {
	Addr     string
	target   string
	server   *http.Server
	client   *http.Client
	mu       sync.Mutex
	random   *rand.Rand
	rate     float64 // share of requests that something happens to
	Injected atomic.Int64
}

// fault is something that happens to a request.
type fault int

const (
	noFault    fault = iota
	dropBefore       // the connection is closed before the server sees the request
	dropAfter        // the server does what is asked, but the answer is lost
	halfAnswer       // the connection is closed in the middle of the answer
	delay            // the answer is late
	busy             // 429, with a Retry-After now and then
	broken           // 503
	faultCount
)

// newFaultProxy listens in front of target (host:port) until Close.
func newFaultProxy(target string, seed uint64, rate float64) (*faultProxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &faultProxy{
		Addr: l.Addr().String(), target: target, random: rand.New(rand.NewPCG(seed, 7)), rate: rate,
		client: &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 50}},
	}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(l) }() // ends with Close
	return p, nil
}

// Close stops the proxy.
func (p *faultProxy) Close() { _ = p.server.Close() }

// Calm sets the share of requests that something happens to.
func (p *faultProxy) Calm(rate float64) {
	p.mu.Lock()
	p.rate = rate
	p.mu.Unlock()
}

// next draws what happens to a request, with a number for its details.
func (p *faultProxy) next() (fault, float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.random.Float64() >= p.rate {
		return noFault, 0
	}
	p.Injected.Add(1)
	return fault(1 + p.random.IntN(int(faultCount)-1)), p.random.Float64()
}

// ServeHTTP implements http.Handler.
func (p *faultProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, detail := p.next()
	switch f {
	case dropBefore:
		panic(http.ErrAbortHandler)
	case busy:
		if detail < 0.3 {
			w.Header().Set("Retry-After", "1")
		}
		answerFault(w, http.StatusTooManyRequests)
		return
	case broken:
		answerFault(w, http.StatusServiceUnavailable)
		return
	case delay:
		time.Sleep(time.Duration(detail*300) * time.Millisecond)
	}
	resp, err := p.forward(r)
	if err != nil {
		panic(http.ErrAbortHandler) // as if the server were reached directly
	}
	defer resp.Body.Close()
	if f == dropAfter {
		_, _ = io.Copy(io.Discard, resp.Body)
		panic(http.ErrAbortHandler)
	}
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	if f == halfAnswer {
		size, err := strconv.Atoi(resp.Header.Get("Content-Length"))
		if err != nil {
			size = 1 << 12
		}
		_, _ = io.CopyN(w, resp.Body, int64(detail*float64(size)))
		panic(http.ErrAbortHandler)
	}
	if err := copyFlushing(w, resp.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func answerFault(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"error":"busy","reason":"fault proxy"}`)
}

func (p *faultProxy) forward(r *http.Request) (*http.Response, error) {
	out, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+p.target+r.URL.RequestURI(), r.Body)
	if err != nil {
		return nil, err
	}
	out.Header = r.Header.Clone()
	out.ContentLength = r.ContentLength
	return p.client.Transport.RoundTrip(out)
}

// copyFlushing copies an answer piece by piece: a feed's rows must not wait for more.
func copyFlushing(w http.ResponseWriter, r io.Reader) error {
	buf := make([]byte, 16<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			w.(http.Flusher).Flush()
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
