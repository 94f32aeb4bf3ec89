package replication

import (
	"crypto/tls"
	"net/http"
	"sync"
)

// trusting is a transport whose new connections trust whom the settings say when they begin. It is
// safe for concurrent use.
type trusting struct {
	trust func() *tls.Config // nil: the library's

	mu        sync.Mutex
	transport *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (t *trusting) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.current().RoundTrip(r)
}

// current is the transport of the settings as they are now: after they have changed another one, as a
// transport that has connections must not be changed. Requests that are under way end on the one
// before.
func (t *trusting) current() *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.trust == nil {
		return t.transport
	}
	if now := t.trust(); now != t.transport.TLSClientConfig {
		before := t.transport
		t.transport = before.Clone()
		t.transport.TLSClientConfig = now
		before.CloseIdleConnections()
	}
	return t.transport
}

// CloseIdleConnections closes what waits for the next request; http.Client looks for it.
func (t *trusting) CloseIdleConnections() { t.current().CloseIdleConnections() }
